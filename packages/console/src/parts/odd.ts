/**
 * What in somebody else's text does not look like what it is, by its place. Beside what is invisible: marks that are piled
 * up, that make a letter which there is in one piece as well, or that stand over no letter; and letters of another
 * alphabet that pass for Latin ones.
 */
export function oddIn(text: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  if (PLAIN.test(text)) return found
  for (const { 0: each, index } of text.matchAll(HIDDEN)) found.set(index, each)
  for (const { 0: cluster, 1: base = '', 2: marks = '', index } of text.matchAll(MARKED)) {
    const isFalse = !/\p{L}/u.test(base) || cluster.normalize('NFC') !== cluster
    addAll(found, index + base.length, marks, (_, i) => isFalse || i >= MOST_MARKS)
  }
  for (const { 0: word, index } of text.matchAll(WORD))
    if (isDisguised(word)) addAll(found, index, word, (letter) => !LATIN.test(letter))
  return new Map([...found].sort(([a], [b]) => a - b))
}

const PLAIN = /^[\x20-\x7e]*$/
/**
 * As `policy/src/text.ts` has it: also what is ignored when it is drawn, and blanks that are no space. And what is drawn as
 * a slash, a full stop or a Latin letter of another width.
 */
const HIDDEN =
  /[\p{C}\p{Zl}\p{Zp}\p{DI}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u2024\u2044\u2215\u29f8\uff01-\uff5e\u{1d400}-\u{1d7ff}]/gu
const MARKED = /(^|\P{M})(\p{M}+)/gu
/** Languages need two over a letter, or fewer. */
const MOST_MARKS = 2

const WORD = /\p{L}+/gu
const LATIN = /\p{Script=Latin}/u
const PASSES = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}]/u
/** Every letter of it is drawn as a Latin one is. */
const LOOKS_LATIN = /^[асеорхуіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌԚԜοονυικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]+$/u

const isDisguised = (word: string): boolean =>
  (PASSES.test(word) && LATIN.test(word)) || LOOKS_LATIN.test(word)

function addAll(
  found: Map<number, string>,
  start: number,
  letters: string,
  isOdd: (letter: string, i: number) => boolean,
): void {
  let [at, i] = [start, 0]
  for (const letter of letters) {
    if (isOdd(letter, i++)) found.set(at, letter)
    at += letter.length
  }
}
