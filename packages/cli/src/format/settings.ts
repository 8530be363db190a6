import { formatKeyPath, formatOrigin, formatValue, type LoadedConfig } from '@cordon/host'
import { type Stream } from '../world.ts'

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

interface Leaf {
  readonly path: readonly string[]
  readonly value: unknown
}

function leaves(value: unknown, path: readonly string[]): Leaf[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ path, value }]
  return Object.entries(value).flatMap(([key, child]) => leaves(child, [...path, key]))
}
