import { runDecider } from './check/tools.ts'
import { DEFAULT_SERVER } from './defaults.ts'
import { type ConfigOrigin, type Path } from './layers.ts'
import { type Cell, findCell, type WrittenValue } from './merge/cell.ts'

interface ExplainedValue {
  readonly value: unknown
  readonly origin: ConfigOrigin
}

export interface Explanation extends ExplainedValue {
  /** Of a rule list: each rule with the place it was written. */
  readonly elements?: readonly ExplainedValue[]
  /** What earlier layers said and later ones replaced, the most recent first. */
  readonly overrode: readonly ExplainedValue[]
}

/** SPEC 2: every effective value knows its layer and line. */
export function explainPath(root: Cell, path: Path): Explanation | undefined {
  const found = isPassedOver(root, path) ? undefined : findCell(root, path)
  if (!found) return explainDefault(root, path)
  const { value, written, cell } = found
  return {
    value,
    origin: written.origin,
    ...(cell?.kind === 'rules' ? { elements: cell.elements.map(explained) } : {}),
    overrode: (cell?.overrode ?? []).map(explained),
  }
}

/** A `run` of a tool that gives way to the one of all tools. */
const isPassedOver = (root: Cell, [first, second, name, field, ...rest]: Path): boolean =>
  first === 'conversation' &&
  second === 'tools' &&
  typeof name === 'string' &&
  field === 'run' &&
  rest.length === 0 &&
  runDecider(root, name) !== name

const explained = ({ value, written }: WrittenValue): ExplainedValue => ({ value, origin: written.origin })

/** A tool's value that comes from `conversation.tools.*`, or a server's that nobody wrote. */
function explainDefault(root: Cell, path: Path): Explanation | undefined {
  const [first, second, name, field] = path
  if (path.length < 4 || !findCell(root, path.slice(0, 3))) return undefined
  if (first === 'conversation' && second === 'tools' && name !== '*')
    return explainPath(root, ['conversation', 'tools', '*', ...path.slice(3)])
  if (
    first === 'providers' &&
    second === 'mcp' &&
    typeof field === 'string' &&
    Object.hasOwn(DEFAULT_SERVER, field)
  )
    return {
      value: DEFAULT_SERVER[field as keyof typeof DEFAULT_SERVER],
      origin: { layer: 'built-in', label: 'built-in defaults' },
      overrode: [],
    }
  return undefined
}
