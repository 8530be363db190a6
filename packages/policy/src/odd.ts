import { disguisedIn, LOOKS_LIKE } from './disguised.ts'

/** A name or a path; or a line of a file, whose tabs and indentation are seen as they are. */
export type Shown = 'name' | 'line'

/**
 * What in somebody else's text does not look like what it is, by its place: what a person signs for must not read as
 * something else. By rule, not by a list of cases (decisions 0386 and 0415); text in one script that people write stays as it is.
 */
export function oddIn(text: string, as: Shown): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  if (PLAIN.test(text) && !BLANKS[as].test(text)) return found
  for (const { 0: blanks, index } of text.matchAll(new RegExp(BLANKS[as], 'g')))
    addAll(found, index, blanks, (each) => each === ' ')
  if (!PLAIN.test(text)) {
    addUnusual(found, text, as)
    for (const [index, letters] of disguisedIn(text))
      addAll(found, index, letters, (letter) => !/\p{Script=Latin}/u.test(letter))
  }
  return new Map([...found].sort(([a], [b]) => a - b))
}

const PLAIN = /^[\x20-\x7e]*$/
/** At an end, of a path also of each of its names, and beside another one. The first of a line says what it is in a diff. */
const BLANKS: Readonly<Record<Shown, RegExp>> = {
  name: /^ +| +$| {2,}| +(?=\/)|(?<=\/) +/,
  line: /(?<=.) +$/s,
}

/**
 * The same in one line: as it is, or in quotes with what is odd as `\u{…}`. So are right-to-left letters, because a terminal
 * may put them, and what is around them, into another order (decision 0413).
 */
export function showSigned(text: string, as: Shown): string {
  const odd = new Map([...oddIn(text, as), ...rightToLeftIn(text)].sort(([a], [b]) => a - b))
  if (odd.size === 0 && (as === 'line' || (text !== '' && !text.includes('"')))) return text
  return `"${escapeOdd(text, odd, (plain) => plain.replace(/["\\]/g, '\\$&'))}"`
}

const rightToLeftIn = (text: string): [number, string][] =>
  Array.from(text.matchAll(new RegExp(RIGHT_TO_LEFT, 'gu')), ({ 0: letter, index }) => [index, letter])

/** The blocks that Unicode keeps for scripts that are written so. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * A name with nothing in it that passes for something else, and in letters of one direction: among others, right-to-left ones
 * are drawn in another order than they are stored. The Turkish `ı` is needed for names, and its skeleton is an i's.
 */
export const readsAsWritten = (name: string): boolean =>
  oddIn(name.replaceAll('ı', 'i'), 'name').size === 0 &&
  !(RIGHT_TO_LEFT.test(name) && /(?=[\p{L}\p{N}])[^\u0590-\u08ff\ufb1d-\ufeff]/u.test(name))

export function escapeOdd(
  text: string,
  odd: ReadonlyMap<number, string>,
  rest: (plain: string) => string = (plain) => plain,
): string {
  let [shown, last] = ['', 0]
  for (const [index, letter] of odd) {
    shown += rest(text.slice(last, index)) + escapedLetter(letter)
    last = index + letter.length
  }
  return shown + rest(text.slice(last))
}

export const escapedLetter = (letter: string): string => `\\u{${letter.codePointAt(0)!.toString(16)}}`

/** Expressions are written where they are used: see `text.ts`. */
function addUnusual(found: Map<number, string>, text: string, as: Shown): void {
  let at = 0
  for (const letter of text) {
    if (letter > '\x7e' || letter < ' ')
      if (isOdd(letter) && !(as === 'line' && isUsualInLine(letter, text, at))) found.set(at, letter)
    at += letter.length
  }
  // Marks that are piled up (languages need two over a letter, or fewer), that make a letter which there is in one piece
  // as well, that stand over no letter, that lie over all of it as a slash or a hyphen, or beside Latin of another script.
  for (const { 0: cluster, 1: base = '', 2: marks = '', index } of text.matchAll(/(^|\P{M})(\p{M}+)/gu)) {
    const isFalse = !/\p{L}/u.test(base) || cluster.normalize('NFC') !== cluster
    const isLatin = /\p{Script=Latin}/u.test(base)
    addAll(
      found,
      index + base.length,
      marks,
      (mark, i) =>
        isFalse || i >= 2 || OVERLAY.test(mark) || (isLatin && !/\p{Script=Inherited}/u.test(mark)),
    )
  }
}

const OVERLAY = /[\u0332-\u0338\u20d2\u20d3\u20d8-\u20da\u20e5\u20e6\u20ea\u20eb\p{Me}]/u

/** Tabs; and, in what is East Asian, its own full stops and commas. */
const isUsualInLine = (letter: string, text: string, at: number): boolean =>
  letter === '\t' ||
  (/[，。：；！？（）]/.test(letter) &&
    /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]/u.test(
      text.slice(Math.max(0, at - 1), at + 2),
    ))

const isOdd = (letter: string): boolean =>
  isInvisible(letter) ||
  isOtherAscii(letter) ||
  isUnusualLatin(letter) ||
  isOfNoUsualScript(letter) ||
  isOtherDigit(letter)

/** As `text.ts` has it: also what is ignored when it is drawn, and blanks that are no space; and a note without a head. */
const isInvisible = (letter: string): boolean =>
  /[\p{C}\p{Zl}\p{Zp}\p{DI}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u{1d159}]/u.test(letter)

/** Every script's nought is a circle, and most have a digit that is drawn as another one of ASCII. */
const isOtherDigit = (letter: string): boolean => /\p{Nd}/u.test(letter) && letter > '9'

/**
 * Another form of ASCII, as Unicode itself says (of another width, a ligature, a Roman numeral), or a mark that is drawn as
 * one of ASCII: a slash, a full stop, a colon, a comma, a hyphen, a bar, a tilde, an asterisk. What is raised or in a circle
 * is seen to be.
 */
function isOtherAscii(letter: string): boolean {
  const plain = letter > '\u00ff' && !/\p{No}/u.test(letter) ? letter.normalize('NFKC') : ''
  if (/^[\x21-\x7e]$/.test(plain) || (/^[A-Za-z]+$/.test(plain) && /[\p{L}\p{Nl}]/u.test(letter))) return true
  return /[\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9\u2cc6\u1735\u3033\u201a\u02b0-\u02ff\ua789\u0589\u05c3\u2236\u2010-\u2012\u2015\u2017\u2043\u2053\u2212\u2223\u223c\u204e\u2217\u3002\u06d4\u205a\ufe58\ufe31\ufe32\u2500-\u257f]/u.test(
    letter,
  )
}

/** Latin, and neither ASCII with marks over it (é, ş, ñ) nor a letter of an alphabet that looks like no other: `ı`, `ɡ`, `ᴀ`, `ǃ`. */
const isUnusualLatin = (letter: string): boolean =>
  /\p{Script=Latin}/u.test(letter) &&
  /\p{L}/u.test(letter) &&
  !/^[A-Za-zªºæÆœŒøØđĐðÐþÞßẞłŁħĦŋŊŧŦəƏɛƐɔƆɓƁɗƊƙƘ]/u.test(letter.normalize('NFD'))

/** Nobody writes today's names in it, or few do (Unicode Standard Annex 31, table 5): it has a letter for every Latin one. */
const isOfNoUsualScript = (letter: string): boolean =>
  /[\p{L}\p{P}\p{S}]/u.test(letter) &&
  !/[\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{Script=Armenian}\p{Script=Bengali}\p{Script=Bopomofo}\p{Script=Devanagari}\p{Script=Ethiopic}\p{Script=Georgian}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Han}\p{Script=Hangul}\p{Script=Hebrew}\p{Script=Hiragana}\p{Script=Kannada}\p{Script=Katakana}\p{Script=Khmer}\p{Script=Lao}\p{Script=Malayalam}\p{Script=Myanmar}\p{Script=Oriya}\p{Script=Sinhala}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Thaana}\p{Script=Thai}\p{Script=Tibetan}]/u.test(
    letter,
  )

/**
 * Two names with the same one are read as the same. Undefined: there are letters in it that pass for others, and nobody
 * needs them for a name.
 */
export function skeletonOf(name: string): string | undefined {
  const plain = Array.from(name.normalize('NFKC'), (letter) => LOOKS_LIKE.get(letter) ?? letter).join('')
  const dotless = plain.replaceAll('ı', 'i')
  const odd = new Map<number, string>()
  addUnusual(odd, dotless, 'name')
  return odd.size === 0 ? dotless.replace(/[I1|]/g, 'l').replaceAll('0', 'O') : undefined
}

function addAll(
  found: Map<number, string>,
  start: number,
  letters: string,
  isMeant: (letter: string, i: number) => boolean,
): void {
  let [at, i] = [start, 0]
  for (const letter of letters) {
    if (isMeant(letter, i++)) found.set(at, letter)
    at += letter.length
  }
}
