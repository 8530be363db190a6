/**
 * Letters that pass for others by what stands beside them, or because all of their word does (decision 0415). A word is
 * letters, digits and marks in a row; in it, letters in a row are judged together.
 */
export function* disguisedIn(text: string): Generator<[index: number, letters: string]> {
  for (const { 0: word, index: start } of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    const isMixed = ONE_OF_THEM.filter((script) => script.test(word)).length > 1
    for (const { 0: run, 1: eastAsian, index: at } of word.matchAll(RUNS)) {
      const beside = [word[at - 1], word[at + run.length]].map((letter) => letter ?? '')
      if (eastAsian === undefined ? isMixed || isDisguised(run, beside) : isStroke(run, beside))
        yield [start + at, run]
    }
  }
  for (const { 0: mark, index } of text.matchAll(MARKS)) yield [index, mark]
}

/** What is East Asian in a row (also the nought that is a number), or any other letters. */
const RUNS =
  /((?:(?=[\p{L}\p{Nl}])[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}])+)|(?:(?![\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}])[\p{L}\p{M}])+/gu

/** In one word one of them is written. East Asian names do have Latin letters in them, and are not among these. */
const ONE_OF_THEM: readonly RegExp[] = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /(?=\p{L})[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Common}\p{Script=Inherited}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]/u,
]

/**
 * Every letter of it is drawn as a Latin one or a digit is; or it is one letter beside a digit, or alone, of a script that
 * has no words of one letter.
 */
function isDisguised(run: string, beside: readonly string[]): boolean {
  if (/\p{Script=Latin}/u.test(run)) return false
  if (Array.from(run.replace(/\p{M}/gu, '')).every((letter) => LOOKS_LIKE.has(letter))) return true
  if (Array.from(run).length > 1) return false
  return (
    !/[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Tibetan}]/u.test(run) ||
    beside.some((each) => /\d/.test(each))
  )
}

/** One letter between Latin ones, as a slash or a hyphen; or nothing but letters of so few strokes, alone or beside ASCII. */
function isStroke(run: string, beside: readonly string[]): boolean {
  const letters = Array.from(run)
  const isOne = letters.length === 1
  if (isOne && beside.every((each) => /[A-Za-z]/.test(each))) return true
  const isBeside = beside.some((each) => /[A-Za-z\d]/.test(each))
  return (isOne || isBeside) && letters.every((letter) => FEW_STROKES.includes(letter))
}

const FEW_STROKES = 'ノ丿一丨ー亅乚乙ニ二ハ八口ロ工エトヘへ卜〇〆ㅡㅣㅇㅅㄱㄴㅏㅓㅐ'

/** A dash that joins, as a hyphen does; and a mark of another script beside ASCII. */
const MARKS =
  /(?<=[\p{L}\p{N}])[\u2013\u2014](?=[\p{L}\p{N}])|(?![\p{Script=Common}\p{Script=Inherited}\p{Script=Latin}])[\p{P}\p{S}](?:(?=[A-Za-z\d])|(?<=[A-Za-z\d].))/gu

/** Letters of the scripts that people write names in, each beside the Latin one, or the digit, that it is drawn as. */
export const LOOKS_LIKE: ReadonlyMap<string, string> = new Map(
  [
    ['асеорхуіјѕһԁԛԝӏѵҽԍ', 'aceopxyijshdqwlveg'], // Cyrillic
    ['АВЕКМНОРСТУХІЈЅԌԚԜӀѴԀҮ', 'ABEKMHOPCTYXIJSGQWIVdY'],
    ['ЗзӠӡҘҙбчЧьЬ', '333333644bb'],
    ['ορνυικϲϹϳ', 'opvuikcCj'], // Greek; not α: it is in `και`
    ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ', 'ABEZHIKMNOPTYX'],
    ['օսհոցզաքլՕՍՏԼ', 'ouhngqwplOUSL'], // Armenian
  ].flatMap(([theirs, like]) => Array.from(theirs!, (letter, i): [string, string] => [letter, like![i]!])),
)
