import { hash } from 'node:crypto'

/** Beyond this, loading `node:crypto` costs less than doing without it. */
const SMALL = 32 * 1024

/**
 * The SHA-256 (FIPS 180-4) of a text in UTF-8, as 64 hexadecimal digits. Config files are small, and every start of
 * `cordon run` needs the digest of some: our own code takes a fifth of the time that `node:crypto` takes to load
 * (decision 0125).
 */
export function sha256(text: string): string {
  const bytes = Buffer.from(text)
  return bytes.length > SMALL ? hash('sha256', bytes) : ownSha256(bytes)
}

function ownSha256(message: Uint8Array): string {
  const words = padded(message)
  const state = Int32Array.from(INITIAL)
  const schedule = new Int32Array(64)
  for (let block = 0; block < words.length; block += 16) {
    schedule.set(words.subarray(block, block + 16))
    compress(state, schedule)
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** FIPS 180-4 §5.1.1: a one bit, zeros, and the length in bits, up to whole blocks of 64 bytes; as big-endian words. */
function padded(message: Uint8Array): Int32Array {
  const words = new Int32Array(((message.length + 8) >> 6) * 16 + 16)
  const bytes = Buffer.from(words.buffer)
  bytes.set(message)
  bytes[message.length] = 0x80
  bytes.writeUInt32BE(message.length * 8, bytes.length - 4) // SMALL, so the upper half stays zero
  if (isLittleEndian) bytes.swap32()
  return words
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1

/** FIPS 180-4 §6.2.2. `w` holds the block in its first 16 words. */
function compress(state: Int32Array, w: Int32Array): void {
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15]!
    const y = w[i - 2]!
    const small0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const small1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    w[i] = w[i - 16]! + small0 + w[i - 7]! + small1
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Words
  for (let i = 0; i < 64; i++) {
    const big1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const big0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const first = (h + big1 + ((e & f) ^ (~e & g)) + ROUND[i]! + w[i]!) | 0
    const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
  state[4]! += e
  state[5]! += f
  state[6]! += g
  state[7]! += h
}

type Words = [number, number, number, number, number, number, number, number]

/** FIPS 180-4 §5.3.3. */
// prettier-ignore
const INITIAL = Int32Array.of(
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
)

/** FIPS 180-4 §4.2.2. */
// prettier-ignore
const ROUND = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
)
