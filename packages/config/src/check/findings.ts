import { type ConfigProblem } from '../errors.ts'
import { type Path } from '../layers.ts'
import { isTable, nearestOrigin, plainToCheck, type TableCell } from '../merge/cell.ts'
import { type Table } from '../toml/document.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { readSoundRules, type SoundRules } from './sound-rules.ts'

/** A tool or server that is not whole. */
export interface Incomplete {
  readonly entry: readonly string[]
  readonly problem: ConfigProblem
}

/** The merged config while it is checked, and what was found so far. */
export class Findings {
  readonly root: TableCell
  /** The rule lists that need no further look. */
  readonly sound: SoundRules
  /** Everything else, as plain data. */
  readonly values: Table
  readonly problems: ConfigProblem[]
  readonly warnings: ConfigProblem[] = []
  /** Tools and servers that another layer could complete. Their problems are among `problems`, too. */
  readonly incomplete: Incomplete[] = []
  readonly #broken = new Set<string>()

  constructor(root: TableCell, problems: ConfigProblem[]) {
    this.root = root
    this.sound = readSoundRules(root)
    this.values = plainToCheck(root, this.sound)
    this.problems = problems
  }

  /** `message` is about the key at `path`, which need not exist: then the nearest place above it is named. */
  add(path: Path, message: string, fix?: string): void {
    this.problems.push(this.#problem(path, message, fix))
  }

  /** The same, when all that is wrong is that no layer says the rest of the tool or server at `entry`. */
  addIncomplete(entry: readonly string[], path: Path, message: string, fix?: string): void {
    const problem = this.#problem(path, message, fix)
    this.problems.push(problem)
    this.incomplete.push({ entry, problem })
  }

  warn(path: Path, message: string, fix?: string): void {
    this.warnings.push(this.#problem(path, message, fix))
  }

  /** Something at or below the path has the wrong shape and was reported: do not report what follows from it. */
  isBroken(path: Path): boolean {
    return this.#broken.has(formatKeyPath(path))
  }

  markBroken(path: Path): void {
    for (let length = path.length; length > 0; length--)
      this.#broken.add(formatKeyPath(path.slice(0, length)))
  }

  get anyBroken(): boolean {
    return this.#broken.size > 0
  }

  #problem(path: Path, message: string, fix: string | undefined): ConfigProblem {
    return {
      origin: nearestOrigin(this.root, path),
      key: formatKeyPath(path),
      message,
      ...(fix === undefined ? {} : { fix }),
    }
  }
}

/** After a wrong type was reported, the rest is checked as if the table were empty. */
export const tableOf = (value: unknown): Table => (isTable(value) ? value : (Object.create(null) as Table))
