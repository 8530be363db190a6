import { show, showWhole, tomlString } from '@cordon/policy'

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
  listed(value, extent, ([way, leaf]) => ({ line: named(way, shownLeaf(way, leaf, extent)), below: [] }))
    .map(({ line }) => `  ${line}\n`)
    .join('')

/** The same for whoever keeps the lines of a text behind a margin: a script is read as it was written. */
export const shownWithLines = (value: unknown, extent: Extent = 'cut'): readonly ShownValue[] =>
  listed(value, extent, ([way, leaf]) => {
    const line = named(way, shownLeaf(way, leaf, extent))
    if (typeof leaf !== 'string' || !/\n./s.test(leaf)) return { line, below: [] }
    const lines = leaf.split('\n')
    const isWhole = extent === 'whole' || (lines.length <= MOST_BELOW && !isCut(way, leaf))
    return isWhole ? { line: named(way, `(${lines.length} lines)`), below: lines } : { line, below: [] }
  })

type Extent = 'cut' | 'whole'

function listed(value: unknown, extent: Extent, shown: (leaf: Leaf) => ShownValue): ShownValue[] {
  const all = leavesOf(value, '', extent === 'whole' ? showWhole : show)
  const lines = [...all.filter(isPlace), ...all.filter((leaf) => !isPlace(leaf))]
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
  return `${tomlString(value.slice(0, LONGEST_TEXT).toWellFormed())}… (${value.length} characters)`
}

const isCut = (way: string, text: string): boolean => text.length > LONGEST_TEXT && !isPlace([way, text])
