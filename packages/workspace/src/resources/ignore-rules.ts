import { join } from 'node:path'
import ignore, { type Ignore } from 'ignore'
import { readSmall } from '../durable.ts'

const FILES = ['.gitignore', '.ignore']
const LARGEST = 1024 * 1024

/** The ignore files from some directory down to the present one; the nearest that says something decides. */
export class IgnoreRules {
  static readonly none: IgnoreRules = new IgnoreRules([])
  readonly #levels: readonly { readonly base: string; readonly rules: Ignore }[]

  private constructor(levels: readonly { readonly base: string; readonly rules: Ignore }[]) {
    this.#levels = levels
  }

  /** With what `dir`, which lies below the earlier ones, adds. An ignore file that cannot be read is an error. */
  async entering(dir: string): Promise<IgnoreRules> {
    const rules = ignore()
    let found = false
    for (const name of FILES) {
      const file = await readSmall(join(dir, name), LARGEST)
      if (file) rules.add(file.bytes.toString('utf8'))
      found ||= file !== undefined
    }
    return found ? new IgnoreRules([...this.#levels, { base: `${dir === '/' ? '' : dir}/`, rules }]) : this
  }

  ignores(path: string, kind: 'file' | 'directory'): boolean {
    let ignored = false
    for (const { base, rules } of this.#levels) {
      const verdict = rules.test(path.slice(base.length) + (kind === 'directory' ? '/' : ''))
      if (verdict.ignored) ignored = true
      if (verdict.unignored) ignored = false
    }
    return ignored
  }
}
