import { join } from 'node:path'
import { type SecretTest, secretTest } from '@cordon/files'
import { below, show } from '@cordon/policy'
import type { ShownPath } from '@cordon/tools'
import { patternsHere, type SensitiveOptions } from '../compile/sensitive.ts'
import { Looks, realName } from '../real-name.ts'
import { readingsOf } from './readings.ts'
import { touchedBy } from './touched.ts'
import { wordsIn } from './words.ts'

/**
 * SPEC 4.9: what of a call may be secret. It decides whether a person is asked; what a tool may touch is its policy's business.
 * With the person's authority, links are followed: another name for a secret is that secret (decision 0405). Where the places
 * of secrets lead is looked up once.
 */
export class Secrets {
  readonly #options: SensitiveOptions
  #patterns: readonly string[] | undefined
  #test: SecretTest | undefined

  constructor(options: SensitiveOptions) {
    this.#options = options
  }

  /** As they are on this host, for a tool that leaves out what may be secret by itself. */
  get patterns(): readonly string[] {
    return (this.#patterns ??= patternsHere(this.#options))
  }

  forCall(): CallSecrets {
    return new CallSecrets(this.#options, (this.#test ??= secretTest(this.patterns)), this.patterns)
  }
}

/**
 * Of one call. What was looked up for its arguments is not looked up again for its result: the shipped tools name in a result
 * what they opened, so a link that somebody put there meanwhile is another name. Where looking becomes too much, it may be secret.
 */
export class CallSecrets {
  readonly patterns: readonly string[]
  readonly #root: string
  readonly #home: string
  readonly #test: SecretTest
  readonly #looks = new Looks()
  readonly #known = new Map<string, boolean>()
  #realRoot: string | undefined

  constructor(
    { root, home }: Pick<SensitiveOptions, 'root' | 'home'>,
    test: SecretTest,
    patterns: readonly string[],
  ) {
    this.patterns = patterns
    this.#root = root
    this.#home = home
    this.#test = test
  }

  /**
   * What a person is told of the first that the arguments name and that may be secret; undefined: nothing. Of a tool that is not
   * ours any word may be a path.
   */
  namedIn(tool: string, args: unknown, whose: 'ours' | 'others'): string | undefined {
    const touched = whose === 'ours' ? touchedBy(tool, args).map(({ path }) => path) : []
    const names = touched.length > 0 ? touched : wordsIn(args)
    if (names === 'too many') return TOO_MUCH
    const secret = names.find((path) => this.at(path))
    return secret === undefined ? undefined : `${show(secret)} may be secret`
  }

  /** The same, of where the paths of a call were found. */
  among(paths: readonly ShownPath[]): string | undefined {
    const secret = paths.find(({ place }) => this.at(place))
    return secret && `${show(secret.place)} may be secret`
  }

  /** Of a path as any tool may take it. */
  at(path: string): boolean {
    const answer = this.#known.get(path) ?? this.#lookUp(path)
    this.#known.set(path, answer)
    return answer
  }

  #lookUp(path: string): boolean {
    // What is longer once `./` and the like are gone no tool takes, and nothing has it.
    const word = path.length > LONGEST_PATH ? join(path) : path
    if (word.length > LONGEST_PATH || word.includes('\0')) return false
    return readingsOf(word, this.#root, this.#home).some((given) => {
      const whole = join(given)
      if (!this.#looks.compare(whole) || this.#isSecretPlace(whole)) return true
      const real = this.#realName(given)
      return real === undefined || (real !== whole && this.#isSecretPlace(real))
    })
  }

  /** The way to the workspace is looked at once for a call: somebody may have put a link there. */
  #realName(path: string): string | undefined {
    const inside = below(this.#root, path)
    if (inside === undefined) return realName(path, this.#looks)
    this.#realRoot ??= realName(this.#root, this.#looks)
    return this.#realRoot && realName(`${this.#realRoot}/${inside}`, this.#looks, this.#realRoot)
  }

  #isSecretPlace(place: string): boolean {
    return this.#test(place, below(this.#root, place) ?? place.slice(1))
  }
}

const TOO_MUCH = 'what it names is too much to look at, so it may be secret'

/** Linux's PATH_MAX, as the tools have it. */
const LONGEST_PATH = 4096
