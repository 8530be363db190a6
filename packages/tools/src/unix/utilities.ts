/** What one program may be given. An option, joined with the value in its next word if it has one, must match `options`, all of it (decision 0075). */
export interface Utility {
  readonly options: () => RegExp
  /** Options that are followed by so many words of text (`--arg name value`). */
  readonly followed?: Readonly<Record<string, number>>
  /** What the other arguments are. `paths` are read, and what is `written` is created or updated: each needs that grant (SPEC 1.8). */
  readonly operands: 'paths' | 'text' | 'written'
  /** A first operand that is a program text of its own, and what it must not contain. */
  readonly script?: { readonly refuse: RegExp; readonly because: string }
  readonly mostOperands?: number
  /** What is read where no file is named; undefined: standard input. */
  readonly otherwise?: '.'
  /** Exit codes beside 0 that are an answer: `diff` says by 1 that two files differ. Every other one is a failure (SPEC 6.5). */
  readonly answers?: readonly number[]
}

/** Options with a number or a list of fields, as one word: `-n5`, `--lines=5`. */
const NUMBER = String.raw`[+-]?\d+[a-zA-Z]*`
/** Each is made when its program is called: all of them would be a part of every call of any tool (decision 0435). */
const options =
  (letters: string, ...more: string[]) =>
  (): RegExp =>
    new RegExp(`^(?:${[`-[${letters}]+`, ...more].join('|')})$`, 'u')

/**
 * Programs that only read, with the options of theirs that only read: no output file (`sort -o`, the second
 * operand of `uniq`), no program to start (`sort --compress-program`), no list of further files
 * (`--files0-from`, `md5sum -c`, `jq -f`), no walk that follows links (`diff -r`), nothing that waits for more
 * (`tail -f`). What is not listed is refused. `touch` writes, and is asked for create and update (decision 0173).
 */
export const UTILITIES: Readonly<Record<string, Utility>> = {
  base64: { options: options('di', '-w\\d+', '--wrap=\\d+', '--decode'), operands: 'paths' },
  bc: { options: options('lqsw', '--mathlib'), operands: 'paths' },
  basename: { options: options('a', '-s.+', '--suffix=.+'), operands: 'text' },
  cat: { options: options('AbeEnstTv'), operands: 'paths' },
  cmp: {
    options: options('bls', '-n\\d+', '--bytes=\\d+'),
    operands: 'paths',
    mostOperands: 2,
    answers: [1],
  },
  comm: { options: options('123z', '--(?:no)?check-order', '--total'), operands: 'paths', mostOperands: 2 },
  cut: {
    options: options(
      'snz',
      '-[bcf][\\d,-]+',
      '-d.',
      '--(?:bytes|characters|fields)=[\\d,-]+',
      '--(?:output-)?delimiter=.*',
      '--complement',
    ),
    operands: 'paths',
  },
  date: {
    options: options('uR', '-d.+', '--date=.+', '--utc', '--iso-8601(?:=[a-z]+)?', '-I[a-z]*'),
    operands: 'text',
  },
  diff: {
    options: options('abBcdEiNqstTuwyZ', '-[UC]\\d+', '--unified=\\d+', '--brief', '--no-dereference'),
    operands: 'paths',
    mostOperands: 2,
    answers: [1],
  },
  dirname: { options: options('z'), operands: 'text' },
  du: {
    options: options('abchklmsSx', '-d\\d+', '--max-depth=\\d+', '--apparent-size'),
    operands: 'paths',
    otherwise: '.',
  },
  expand: { options: options('i', '-t[\\d,]+'), operands: 'paths' },
  file: { options: options('bhikLNpr', '--brief', '--mime(?:-type|-encoding)?'), operands: 'paths' },
  fold: { options: options('bs', '-w\\d+'), operands: 'paths' },
  head: {
    options: options('qvz', `-[nc]${NUMBER}`, `-\\d+`, `--(?:lines|bytes)=${NUMBER}`),
    operands: 'paths',
  },
  join: {
    options: options('iz', '-[av12jo][\\d.,]+', '-t.', '-e.+', '--header', '--(?:no)?check-order'),
    operands: 'paths',
    mostOperands: 2,
  },
  jq: {
    options: options(
      'acCejMnrRsS',
      '--(?:arg|argjson|indent|tab|raw-output|compact-output|null-input|slurp|sort-keys|exit-status|join-output|raw-input|ascii-output)',
    ),
    followed: { '--arg': 2, '--argjson': 2, '--indent': 1 },
    operands: 'paths',
    answers: [1, 4], // --exit-status: null or false, and nothing at all
    script: {
      refuse: /\b(?:import|include|modulemeta)\b/,
      because: 'a filter must not name other files (import, include)',
    },
  },
  md5sum: { options: options('btz', '--tag'), operands: 'paths' },
  nl: { options: options('p', '-b[atn]', '-w\\d+', '-s.+', '-v\\d+', '-i\\d+'), operands: 'paths' },
  od: { options: options('abcdfilosvx', '-A[doxn]', '-t[a-zA-Z0-9]+', '-[jNw]\\d+'), operands: 'paths' },
  paste: { options: options('sz', '-d.+'), operands: 'paths' },
  rev: { options: options('0'), operands: 'paths' },
  seq: { options: options('w', '-s.+', '-f.+', '-\\d+(?:\\.\\d+)?'), operands: 'text' },
  sha256sum: { options: options('btz', '--tag'), operands: 'paths' },
  sort: {
    options: options(
      'bcCdfghiMmnrRsuVz',
      '-k[\\d.,a-zA-Z]+',
      '-t.',
      '--key=[\\d.,a-zA-Z]+',
      '--(?:reverse|unique|numeric-sort|version-sort|stable)',
    ),
    operands: 'paths',
    answers: [1], // -c and -C: not in order
  },
  stat: { options: options('Lt', '-c.+', '--format=.+', '--printf=.+'), operands: 'paths' },
  tac: { options: options('br', '-s.+'), operands: 'paths' },
  tail: {
    options: options('qvz', `-[nc]${NUMBER}`, `-\\d+`, `--(?:lines|bytes)=${NUMBER}`),
    operands: 'paths',
  },
  touch: { options: options('acm', '-d.+', '--date=.+', '-t[\\d.]+', '--no-create'), operands: 'written' },
  tr: { options: options('cCdst'), operands: 'text', mostOperands: 2 },
  unexpand: { options: options('a', '-t[\\d,]+'), operands: 'paths' },
  uniq: {
    options: options('cdDiuz', '-[fsw]\\d+', '--(?:count|repeated|unique)'),
    operands: 'paths',
    mostOperands: 1,
  },
  uuidgen: { options: options('r', '--random'), operands: 'text', mostOperands: 0 },
  wc: { options: options('clLmw', '--(?:bytes|chars|lines|words)'), operands: 'paths' },
}
