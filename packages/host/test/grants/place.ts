import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { listMounts, type MountView } from '../../src/mount/list.ts'
import { type Compiler, compileProject, type Policies } from '../../src/policies.ts'
import { openAmbientProject, type Project, type ProjectOptions } from '../../src/project.ts'
import { Workers } from '../../src/worker/workers.ts'
import { openWorkspace, sha256 } from '@cordon/workspace'
import type { Subject } from '../../src/compile/subject.ts'

/** What is there at the beginning of every case: a file has its content, a link `-> target`, a directory null. */
const WRITTEN: Readonly<Record<string, string | null>> = {
  'ws/f': 'old f',
  'ws/a/f': 'old a',
  'ws/a/b/f': 'old b',
  'ws/a/b/c/f': 'old c',
  'ws/a/b/to-f': '-> ../f',
  'ws/d/f': 'old d',
  'ws/d/e': null,
  'ws/d/to-file': '-> ../f',
  'ws/d/to-nothing': '-> ../a/later',
  'ws/l': '-> a/b',
  'ws/ll': '-> d/../l',
  'ws/esc': '-> /etc',
  'ws/.npmrc': 'old npmrc',
  'ws/.claude/settings.json': 'old settings',
  'ws/.git/config': 'old config',
  'ws/.git/hooks/pre': 'old hook',
  'ws/fork': '-> ../ext/m',
  'ws/note': '-> ../ext/one/note',
  'ws/in/deep': '-> ../../ext/m/n',
  'ext/m/f': 'old m',
  'ext/m/n/f': 'old n',
  'ext/m/.git/config': 'old foreign',
  'ext/m/up': '-> ..',
  'ext/one/note': 'old note',
  'ext/one/other': 'old other',
}

/** Every file can be started, and does nothing then: the kernel needs to read no more of it than who starts it. */
const TREE: Readonly<Record<string, string | null>> = Object.fromEntries(
  Object.entries(WRITTEN).map(([name, content]) => [
    name,
    content === null || content.startsWith('-> ') ? content : `#!/bin/true\n${content}`,
  ]),
)

const DIRECTORY = 'directory'

/** Every path of the tree, also the directories on the way. */
const SHOULD_BE: ReadonlyMap<string, string> = new Map(
  Object.entries(TREE).flatMap(([name, content]) => [
    ...waysTo(dirname(name)).map((way) => [way, DIRECTORY] as const),
    [name, content ?? DIRECTORY] as const,
  ]),
)

function waysTo(name: string): string[] {
  return name === '.' ? [] : [...waysTo(dirname(name)), name]
}

/** Undefined: nothing, or with another mode than it was made with. */
function whatIs(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats) return undefined
  if (stats.isSymbolicLink()) return `-> ${readlinkSync(path)}`
  if (stats.isDirectory()) return (stats.mode & 0o777) === 0o755 ? DIRECTORY : undefined
  return (stats.mode & 0o777) === 0o755 ? readFileSync(path, 'utf8') : undefined
}

/** What the person approved (SPEC 3.2): each of these names, and where it leads. */
export const APPROVED = { fork: 'ext/m', note: 'ext/one/note', 'in/deep': 'ext/m/n', 'fork/n': 'ext/m/n' }

/** A workspace, a place outside it and a home, made anew for every case. */
export class GrantsPlace {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-grants-')))
  readonly root = join(this.base, 'ws')
  readonly home = join(this.base, 'home')
  readonly options: ProjectOptions
  /** As in a session: what fits the next call stays. */
  readonly workers = new Workers({ idle: 1 })
  readonly compiler: Compiler

  constructor() {
    const uid = process.getuid?.()
    const surroundings = { env: {}, platform: 'linux', home: this.home, uid }
    this.options = { cwd: this.root, surroundings, cfg: [] }
    this.compiler = { pid: process.pid, uid, home: this.home, session: 'grants', person: undefined }
    mkdirSync(this.home)
  }

  /** The files as at the beginning; the configuration stays, and so does everything that was not touched. */
  reset(): void {
    for (const dir of [this.root, join(this.base, 'ext')]) this.#removeOthers(dir)
    for (const [name, content] of Object.entries(TREE)) {
      const path = join(this.base, name)
      if (whatIs(path) === (content ?? DIRECTORY)) continue
      rmSync(path, { recursive: true, force: true })
      mkdirSync(content === null ? path : dirname(path), { recursive: true })
      if (content?.startsWith('-> ')) symlinkSync(content.slice(3), path)
      else if (content !== null) writeFileSync(path, content, { mode: 0o755 })
    }
  }

  /** Removes what is not part of the tree, or is something else there. */
  #removeOthers(dir: string): void {
    for (const name of existsSync(dir) ? readdirSync(dir) : []) {
      const path = join(dir, name)
      if (path === join(this.root, '.cordon')) continue
      const should = SHOULD_BE.get(path.slice(this.base.length + 1))
      const is = whatIs(path)
      if (should === undefined || is !== should) rmSync(path, { recursive: true })
      else if (is === DIRECTORY) this.#removeOthers(path)
    }
  }

  /** The workspace's file, and a person who has trusted it and approved the mounts: as if they had written it by hand. */
  configure(toml: string): void {
    mkdirSync(join(this.root, '.cordon'), { recursive: true })
    writeFileSync(join(this.root, '.cordon/config.toml'), toml)
    const { local } = openWorkspace(this.root, this.options.surroundings)!
    mkdirSync(local, { recursive: true, mode: 0o700 })
    rmSync(join(local, 'config.toml'), { force: true })
    const mounts = Object.entries(APPROVED).map(([name, target]) => ({
      rule_path: name,
      canonical_target: join(this.base, target),
      approved_at: '2026-01-01T00:00:00.000Z',
    }))
    const configs = [{ path: '.cordon/config.toml', sha256: sha256(toml) }]
    const file = join(local, 'approvals.json')
    writeFileSync(file, JSON.stringify({ mounts, configs }), { mode: 0o600 })
  }

  get config(): string {
    return readFileSync(join(this.root, '.cordon/config.toml'), 'utf8')
  }

  /** The policy of one tool: the others have no rules of their own. */
  async compile(
    tool: string,
  ): Promise<{ project: Project; policies: Policies; mounts: readonly MountView[] }> {
    const project = await openAmbientProject(this.options)
    const only = ({ kind, name }: Pick<Subject, 'kind' | 'name'>): boolean => kind === 'tool' && name === tool
    const mounts = await listMounts(project, this.compiler)
    return { project, policies: await compileProject(project, this.compiler, { only }), mounts }
  }

  /** Every name with what it is and holds: two are equal only byte for byte. */
  snapshot(): Readonly<Record<string, string>> {
    const found: Record<string, string> = {}
    const walk = (dir: string): void => {
      for (const name of readdirSync(dir).toSorted()) {
        const path = join(dir, name)
        if (path === join(this.root, '.cordon')) continue
        const stats = lstatSync(path)
        const what = stats.isSymbolicLink()
          ? `-> ${readlinkSync(path)}`
          : stats.isFile()
            ? readFileSync(path, 'latin1')
            : 'directory'
        found[path.slice(this.base.length + 1)] = `${stats.mode.toString(8)} ${what}`
        if (stats.isDirectory()) walk(path)
      }
    }
    walk(this.root)
    walk(join(this.base, 'ext'))
    return found
  }

  async remove(): Promise<void> {
    await this.workers.close()
    rmSync(this.base, { recursive: true, force: true })
  }
}
