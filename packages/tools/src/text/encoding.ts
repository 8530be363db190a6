/** How a file's bytes become text. `binary` has no text and travels as base64. */
export type Encoding = 'utf-8' | 'utf-8-bom' | 'utf-16le' | 'utf-16be' | 'binary'

/** As many bytes as are looked at to tell text from binary. */
export const SAMPLE = 8192

/**
 * By its beginning: a byte order mark decides, a NUL byte means binary. `utf-8` is a guess until the bytes
 * that are wanted have been decoded without an error.
 */
export function sniffEncoding(sample: Uint8Array): Encoding {
  const [a, b, c] = sample
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8-bom'
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  return sample.includes(0) ? 'binary' : 'utf-8'
}

/** Undefined when the bytes are not valid in that encoding. The byte order mark is not part of the text. */
export function decode(bytes: Uint8Array, encoding: Exclude<Encoding, 'binary'>): string | undefined {
  try {
    return decoders[encoding].decode(bytes)
  } catch {
    return undefined
  }
}

// A mark at the beginning is the encoding's; where the encoding has none, it is a character like any other.
const decoders = {
  'utf-8': new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }),
  'utf-8-bom': new TextDecoder('utf-8', { fatal: true }),
  'utf-16le': new TextDecoder('utf-16le', { fatal: true }),
  'utf-16be': new TextDecoder('utf-16be', { fatal: true }),
} as const

/** Without the rest of a character whose beginning was cut off. */
export function fromCharacter(bytes: Uint8Array): Uint8Array {
  let from = 0
  while (from < 3 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from++
  return bytes.subarray(from)
}

/** The longest beginning that ends between two UTF-8 characters: a cut must not make text invalid. */
export function wholeCharacters(bytes: Uint8Array, from = 0): Uint8Array {
  let end = bytes.length
  for (let back = 1; back <= 3 && end - back >= from; back++) {
    const byte = bytes[end - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue // a continuation: its beginning lies further back
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    if (length > back) end -= back
    break
  }
  return bytes.subarray(from, end)
}
