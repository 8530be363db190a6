import { tomlString } from '@cordon/policy'

/** More lines than this nobody reads; that there are more is said before the first. */
const MOST_VALUES = 100
/** Of a text that is no path, as much as tells what it is. */
const LONGEST_TEXT = 300
const LONGEST_PATH = 4096
/** More lines of one text would push the rest off the screen. */
const MOST_BELOW = 40

/** A line about a value; of a text with several lines, also those. */
interface ShownValue {
  readonly line: string
  readonly below: readonly string[]
}

/**
 * A call's arguments, or a result, as a person decides about them: every value with the way to it, one a line, so that
 * none hides behind another. What says where something is done comes first and whole; another long text is cut by itself,
 * with its length. `whole` cuts nothing.
 */
export const shownValues = (value: unknown, extent: Extent = 'cut'): string =>
  listed(value, extent, plainKey(extent), ([way, leaf]) => ({
    line: named(way, shownLeaf(way, leaf, extent)),
    below: [],
  }))
    .map(({ line }) => `  ${line}\n`)
    .join('')

/** The same for whoever keeps the lines of a text behind a margin: a script is read as it was written. */
export const shownWithLines = (value: unknown, extent: Extent = 'cut'): readonly ShownValue[] =>
  listed(value, extent, plainKey(extent), ([way, leaf]) => {
    const line = named(way, shownLeaf(way, leaf, extent))
    if (typeof leaf !== 'string' || !/\n./s.test(leaf)) return { line, below: [] }
    const lines = leaf.split('\n')
    const isWhole = extent === 'whole' || (lines.length <= MOST_BELOW && !isCut(way, leaf))
    return isWhole ? { line: named(way, `(${lines.length} lines)`), below: lines } : { line, below: [] }
  })

/** The texts that `shownValues` shows whole when it cuts: those that say where something is done, and the others, with keys. */
export function readableIn(value: unknown): {
  readonly places: readonly string[]
  readonly others: readonly string[]
} {
  const shown = inOrder(leavesOf(value, '', plainKey('cut'))).slice(0, MOST_VALUES)
  const texts = (leaves: readonly Leaf[]): string[] =>
    leaves.flatMap(([way, leaf]) => (typeof leaf === 'string' && !isCut(way, leaf) ? [leaf] : []))
  const ways = shown.flatMap(([way]) => [way, ...way.split(/[.[\]]+/)])
  return { places: texts(shown.filter(isPlace)), others: [...texts(shown), ...ways] }
}

/** As much of a text as tells what it is, and how long it is behind the quotation marks, where the text itself cannot say it. */
export const shownText = (text: string): string =>
  text.length <= LONGEST_TEXT
    ? tomlString(text)
    : `${tomlString(text.slice(0, LONGEST_TEXT).toWellFormed())}… (${text.length} characters)`

type Extent = 'cut' | 'whole'

/** With anything but these a key could read as a line of ours, or as the way to another value. */
const plainKey =
  (extent: Extent) =>
  (name: string): string =>
    /^[\w-]+$/.test(name) && name.length <= LONGEST_TEXT
      ? name
      : extent === 'whole'
        ? tomlString(name)
        : shownText(name)

const inOrder = (all: readonly Leaf[]): Leaf[] => [
  ...all.filter(isPlace),
  ...all.filter((leaf) => !isPlace(leaf)),
]

function listed(
  value: unknown,
  extent: Extent,
  key: (name: string) => string,
  shown: (leaf: Leaf) => ShownValue,
): ShownValue[] {
  const lines = inOrder(leavesOf(value, '', key))
  const most = extent === 'whole' ? lines.length : MOST_VALUES
  const left = lines.length - most
  return [
    ...(left > 0 ? [{ line: `(${lines.length} values, ${left} of them are not shown)`, below: [] }] : []),
    ...lines.slice(0, most).map(shown),
  ]
}

const named = (way: string, text: string): string => (way === '' ? text : `${way}: ${text}`)

type Leaf = readonly [way: string, value: unknown]

function leavesOf(value: unknown, way: string, key: (name: string) => string): Leaf[] {
  if (typeof value !== 'object' || value === null) return [[way, value]]
  const entries = Object.entries(value)
  if (entries.length === 0) return way === '' ? [] : [[way, value]]
  return entries.flatMap(([name, inner]) => {
    const step = Array.isArray(value) ? `[${name}]` : way === '' ? key(name) : `.${key(name)}`
    return leavesOf(inner, way + step, key)
  })
}

const PLACES = /path|file|dir|source|dest|target|^from|^to\b|ur[il]|host|command|program|cwd|root/i

const isPlace = ([way, value]: Leaf): boolean =>
  typeof value === 'string' && value.length <= LONGEST_PATH && PLACES.test(way)

function shownLeaf(way: string, value: unknown, extent: Extent): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'nothing'
  if (extent === 'whole' || !isCut(way, value)) return tomlString(value)
  return shownText(value)
}

const isCut = (way: string, text: string): boolean => text.length > LONGEST_TEXT && !isPlace([way, text])
