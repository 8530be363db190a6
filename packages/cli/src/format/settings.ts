import {
  type ExplainedSetting,
  type Explanation,
  formatKeyPath,
  formatOrigin,
  formatValue,
  isDeep,
  type LoadedConfig,
  uncheckedValues,
  type Waiting,
} from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'

/** The effective values as TOML, one dotted key a line, each with the place it was written. */
export function formatSettings(loaded: LoadedConfig, { style }: Pick<Stream, 'style'>): string {
  return leaves(loaded.values, [])
    .map(({ path, value }) => {
      const place = loaded.origin(path)
      const comment = place ? `  ${style('dim', `# ${formatOrigin(place)}`)}` : ''
      return `${formatKeyPath(path)} = ${formatValue(value)}${comment}\n`
    })
    .join('')
}

/** One value, where it was written, what it overrode, and what files say of it that nobody has trusted. */
export function formatExplanation(
  key: string,
  { found, waiting }: ExplainedSetting,
  out: Pick<Stream, 'style'>,
): string {
  const effective = found ? formatEffective(key, found, out) : `${key}: nothing is in effect\n`
  const waits = waiting.map(
    ({ path, value }) =>
      `  ${out.style('yellow', 'waits for `cordon trust`, and is not in effect:')} ${formatValue(value)}  ${out.style('dim', show(path))}\n`,
  )
  return effective + waits.join('')
}

/** The shape that scripts rely on; `null` where nothing is in effect. */
export const explanationJson = ({ found, waiting }: ExplainedSetting): Record<string, unknown> => ({
  ...(found ?? { value: null, origin: null, overrode: [] }),
  waiting,
})

function formatEffective(
  key: string,
  { value, origin, elements, overrode }: Explanation,
  { style }: Pick<Stream, 'style'>,
): string {
  const at = (place: Explanation['origin']): string => style('dim', `${formatOrigin(place)} (${place.layer})`)
  const lines = elements
    ? [`${key}:`, ...elements.map((element) => `  ${formatValue(element.value)}  ${at(element.origin)}`)]
    : [`${key} = ${formatValue(value)}  ${at(origin)}`]
  for (const earlier of overrode)
    lines.push(`  instead of ${formatValue(earlier.value)}  ${at(earlier.origin)}`)
  return `${lines.join('\n')}\n`
}

/** SPEC 2.1: what the files say and nobody has trusted, marked as such: comments, so that the whole stays TOML. */
export const formatWaiting = (waiting: readonly Waiting[], { style }: Pick<Stream, 'style'>): string =>
  waiting
    .map(({ path, sources }) => {
      const lines = sources.flatMap((source) => {
        const read = uncheckedValues(source)
        return read.kind === 'broken'
          ? [show(read.problem.message)]
          : leaves(read.values, []).map(
              ({ path: key, value }) => `${formatKeyPath(key)} = ${formatValue(value)}`,
            )
      })
      const title = `# waits for \`cordon trust\`, and is not in effect: ${show(path)}`
      return `${style('yellow', title)}\n${lines.map((line) => `#   ${line}\n`).join('')}`
    })
    .join('')

interface Leaf {
  readonly path: readonly string[]
  readonly value: unknown
}

function leaves(value: unknown, path: readonly string[]): Leaf[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ path, value }]
  if (isDeep(value)) return [{ path, value: TOO_DEEP }]
  return Object.entries(value).flatMap(([key, child]) => leaves(child, [...path, key]))
}

const TOO_DEEP = '… more levels than anybody writes'
