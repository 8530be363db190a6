import { show, showWhole, tomlString } from '@cordon/policy'

/** More lines than this nobody reads; that there are more is said before the first. */
const MOST_VALUES = 100
/** Of a text that is no path, as much as tells what it is. */
const LONGEST_TEXT = 300
const LONGEST_PATH = 4096

/**
 * A call's arguments, or a result, as a person decides about them: every value with the way to it, one a line, so that
 * none hides behind another. What says where something is done comes first and whole; another long text is cut by itself,
 * with its length. `whole` cuts nothing.
 */
export function shownValues(value: unknown, extent: 'cut' | 'whole' = 'cut'): string {
  const all = leavesOf(value, '', extent === 'whole' ? showWhole : show)
  if (all.length === 0) return ''
  const lines = [...all.filter(isPlace), ...all.filter((leaf) => !isPlace(leaf))]
  const most = extent === 'whole' ? lines.length : MOST_VALUES
  const left = lines.length - most
  return [
    ...(left > 0 ? [`  (${lines.length} values, ${left} of them are not shown)\n`] : []),
    ...lines
      .slice(0, most)
      .map(([way, leaf]) => `  ${way === '' ? '' : `${way}: `}${shownLeaf(way, leaf, extent)}\n`),
  ].join('')
}

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

function shownLeaf(way: string, value: unknown, extent: 'cut' | 'whole'): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'nothing'
  if (extent === 'whole' || value.length <= LONGEST_TEXT || isPlace([way, value])) return tomlString(value)
  return `${tomlString(value.slice(0, LONGEST_TEXT).toWellFormed())}… (${value.length} characters)`
}
