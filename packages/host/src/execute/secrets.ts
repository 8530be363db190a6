import { join } from 'node:path'
import { below } from '@cordon/policy'
import { type SecretPlaces, secretFinder } from '../attachment/sensitive.ts'
import { realName } from './real-name.ts'
import { touchedBy } from './touched.ts'

export interface SecretOptions extends SecretPlaces {
  readonly root: string
}

/**
 * SPEC 4.9: what of a call may be secret. It decides whether a person is asked; what a tool may touch is its policy's business.
 * With the person's authority, links are followed: another name for a secret is that secret.
 */
export class Secrets {
  readonly #root: string
  readonly #home: string
  readonly #isSecret: ReturnType<typeof secretFinder>

  constructor({ root, home, patterns }: SecretOptions) {
    this.#root = root
    this.#home = home
    this.#isSecret = secretFinder({ home, patterns })
  }

  /** The first of what the arguments name that may be secret. Of a tool that is not ours any word may be a path. */
  namedIn(
    tool: string,
    args: unknown,
    whose: 'ours' | 'others',
    isSecret: IsSecret = (path) => this.at(path),
  ): string | undefined {
    const touched = whose === 'ours' ? touchedBy(tool, args).map(({ path }) => path) : []
    return (touched.length > 0 ? touched : wordsIn(args)).find((path) => isSecret(path))
  }

  /** Of a path as a tool would take it: from the workspace's root, from the home, or absolute. */
  at(path: string): boolean {
    const written = path.replace(/^file:\/\//, '').replace(/^~(?=\/|$)/, this.#home)
    const whole = written.startsWith('/') ? written : join(this.#root, written)
    if (this.#isSecretPlace(whole)) return true
    const real = realName(whole)
    return real !== whole && this.#isSecretPlace(real)
  }

  #isSecretPlace(place: string): boolean {
    return this.#isSecret(place, below(this.#root, place) ?? place.slice(1))
  }
}

export type IsSecret = (path: string) => boolean

/**
 * For one call: what was looked up for its arguments is not looked up again for its result (decision 0396). The shipped tools
 * name in a result what they opened: a link that somebody put there meanwhile is another name, and is looked up.
 */
export function lookedUpOnce(isSecret: IsSecret): IsSecret {
  const known = new Map<string, boolean>()
  return (path) => {
    const answer = known.get(path) ?? isSecret(path)
    known.set(path, answer)
    return answer
  }
}

/** Also in the middle of a command line: `sh -c "cat <.env"`. */
function wordsIn(value: unknown): string[] {
  if (typeof value === 'string')
    return value.slice(0, MOST_TEXT).split(SEPARATORS).filter(isName).slice(0, MOST_WORDS)
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(wordsIn).slice(0, MOST_WORDS)
}

const SEPARATORS = /[\s"'`=,;:|&<>(){}[\]]+/

const isName = (word: string): boolean => word !== '' && word.length < 4096 && !word.includes('\0')

/** Each is looked up on the disk. */
const MOST_WORDS = 1000
const MOST_TEXT = 1_000_000
