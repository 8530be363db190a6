/** Shorter than this, the engine's own search is quicker and cannot be led far astray. */
const LONG = 32

/**
 * Finds a text in others, in time that grows with their length alone. The engine's `indexOf` takes the product of both
 * lengths where an agent chooses them badly (`aaa…b…aaa` in `aaa…`): minutes in which nobody else is answered.
 */
export class TextFinder {
  readonly #wanted: string
  /** Knuth, Morris, Pratt: how much of the beginning still fits when the character after so many does not. */
  readonly #fits: Int32Array

  constructor(wanted: string) {
    this.#wanted = wanted
    this.#fits = wanted.length < LONG ? new Int32Array() : fitsOf(wanted)
  }

  isIn(text: string): boolean {
    return this.next(text, 0) >= 0
  }

  /** As `indexOf`. */
  next(text: string, from: number): number {
    const wanted = this.#wanted
    if (wanted.length < LONG) return text.indexOf(wanted, from)
    let fit = 0
    for (let at = from; at < text.length; at++) {
      fit = grow(wanted, this.#fits, fit, text.charCodeAt(at))
      if (fit === wanted.length) return at + 1 - fit
    }
    return -1
  }
}

function fitsOf(wanted: string): Int32Array {
  const fits = new Int32Array(wanted.length)
  for (let at = 1; at < wanted.length; at++)
    fits[at] = grow(wanted, fits, fits[at - 1]!, wanted.charCodeAt(at))
  return fits
}

function grow(wanted: string, fits: Int32Array, before: number, code: number): number {
  let fit = before
  while (fit > 0 && wanted.charCodeAt(fit) !== code) fit = fits[fit - 1]!
  return wanted.charCodeAt(fit) === code ? fit + 1 : 0
}
