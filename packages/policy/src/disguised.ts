/**
 * Letters that pass for others by what stands beside them, or because all of their word does (decision 0415). A word is
 * letters, digits and marks in a row; in it, letters in a row are judged together.
 */
export function* disguisedIn(text: string): Generator<[index: number, letters: string]> {
  const isWritten = (text.match(/[\p{L}\p{M}]+/gu) ?? []).some(
    (word) => OTHERS.test(word) && new Set(word).size > 1,
  )
  for (const { 0: word, index: start } of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    const isMixed = ONE_OF_THEM.filter((script) => script.test(word)).length > 1
    for (const { 0: run, 1: eastAsian, index: at } of word.matchAll(RUNS)) {
      const beside = [word[at - 1], word[at + run.length]].map((letter) => letter ?? '')
      if (eastAsian === undefined ? isMixed || isDisguised(run, beside, isWritten) : isStroke(run, beside))
        yield [start + at, run]
    }
  }
  for (const { 0: mark, index } of text.matchAll(MARKS)) yield [index, mark]
}

/** What is East Asian in a row (also the nought that is a number), or any other letters. */
const RUNS =
  /((?:(?=[\p{L}\p{Nl}])[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}])+)|(?:(?![\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}])[\p{L}\p{M}])+/gu

/** None of those that are named below, and not East Asian. */
const OTHERS =
  /(?=\p{L})[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Common}\p{Script=Inherited}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]/u

/** In one word one of them is written. East Asian names do have Latin letters in them, and are not among these. */
const ONE_OF_THEM: readonly RegExp[] = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  OTHERS,
]

/**
 * Every letter of it is drawn as a Latin one, or, beside a digit or alone, as a digit; or it is one letter, however often, of
 * another script, of which nothing else is written here (`و` is a word).
 */
function isDisguised(run: string, beside: readonly string[], isWritten: boolean): boolean {
  if (/\p{Script=Latin}/u.test(run)) return false
  const letters = Array.from(run.replace(/\p{M}/gu, ''))
  if (letters.every((letter) => LIKE_LETTERS.has(letter))) return true
  const isNumber = letters.length === 1 || beside.some((each) => /\d/.test(each))
  if (isNumber && letters.every((letter) => LOOKS_LIKE.has(letter))) return true
  return (
    new Set(letters).size === 1 &&
    !isWritten &&
    !/[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Tibetan}]/u.test(run)
  )
}

/** Nothing but letters of so few strokes that they pass for a slash, a hyphen or a digit beside ASCII. */
const isStroke = (run: string, beside: readonly string[]): boolean =>
  beside.some((each) => /[A-Za-z\d]/.test(each)) &&
  Array.from(run).every((letter) => FEW_STROKES.includes(letter))

const FEW_STROKES = 'ノ丿一丨ー亅乚乙ニ二ハ八口ロ工エトヘへ卜〇〆ㅡㅣㅇㅅㄱㄴㅏㅓㅐろㄋ十ㄧ丶'

/** A dash that joins, as a hyphen does; and, beside ASCII, a mark of another script, a full stop of India, a stroke or a line. */
const MARKS =
  /(?<=[\p{L}\p{N}])[\u2013\u2014](?=[\p{L}\p{N}])|(?:(?![\p{Script=Common}\p{Script=Inherited}\p{Script=Latin}])[\p{P}\p{S}]|[\u0640\u0964\u2758\u23af\u31c0-\u31e3])(?:(?=[A-Za-z\d])|(?<=[A-Za-z\d].))/gu

/** Letters of the scripts that people write names in, each beside what it is drawn as. */
const likes = (pairs: readonly (readonly [theirs: string, like: string])[]): ReadonlyMap<string, string> =>
  new Map(
    pairs.flatMap(([theirs, like]) =>
      Array.from(theirs, (letter, i): [string, string] => [letter, like[i]!]),
    ),
  )

const LIKE_LETTERS = likes([
  ['асеорхуіјѕһԁԛԝӏѵҽԍ', 'aceopxyijshdqwlveg'], // Cyrillic
  ['АВЕКМНОРСТУХІЈЅԌԚԜӀѴԀҮ', 'ABEKMHOPCTYXIJSGQWIVdY'],
  ['ορνυικϲϹϳ', 'opvuikcCj'], // Greek; not α: it is in `και`
  ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ', 'ABEZHIKMNOPTYX'],
  ['օսհոցզաքլՕՍՏԼ', 'ouhngqwplOUSL'], // Armenian
])

/** In words these are letters as any other: `база`, `обзор`, `час`. */
const LIKE_DIGITS = likes([['ЗзӠӡҘҙбчЧьЬ', '333333644bb']])

export const LOOKS_LIKE: ReadonlyMap<string, string> = new Map([...LIKE_LETTERS, ...LIKE_DIGITS])
