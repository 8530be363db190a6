import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { type Options, type Person, Place } from './place.ts'

/** A workspace that is a repository with one commit. */
export class Repository extends Place {
  constructor(person: Person) {
    super(person)
    this.write('a', 'a\n')
    this.git('init -q -b main')
    this.git('config user.name a')
    this.git('config user.email a@b')
    this.git('add a')
    this.git('commit -q -m first')
  }

  /** As the person, outside of any sandbox. */
  git(words: string, cwd = this.root): string {
    const { uid, gid } = this.person
    const who = uid === undefined ? {} : { uid, gid: gid! }
    return execFileSync('git', words.split(' '), {
      ...who,
      cwd,
      env: this.env(),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  }

  sh(script: string, more: Options = {}): ReturnType<Place['run']> {
    return this.run(['--', 'sh', '-c', script], more)
  }

  read(name: string): string {
    return readFileSync(join(this.root, name), 'utf8')
  }

  has(name: string): boolean {
    return existsSync(join(this.root, name))
  }

  get real(): string {
    return realpathSync(this.root)
  }
}
