import { DEFAULT_LIMITS, type Exit, type Limits } from '@cordon/sandbox'
import type { Hint } from './hint.ts'

/**
 * What programs say when they run into a bound of SPEC 4.3. Of most the kernel does not tell us, so it is a guess; what it tells is
 * reported as a limit, so that only the fix is left to say.
 */
export const findLimits = (text: string, limits: Limits, exit?: End): Hint[] =>
  SYMPTOMS.flatMap(({ about, key, limit, words, isTold, isEnd }) => {
    const value = limit(limits)
    if (value === undefined) return []
    const known = exit?.pressure.some((each) => each.limit === key) === true
    const isReached = (words.test(text) && (known || !isTold)) || (known && isEnd)
    if (!isReached) return []
    return {
      about: key,
      text: `the limit of ${value} ${about} was ${known ? '' : 'probably '}reached`,
      fix: `--cfg sandbox.limits.${key}=${enough(value, limit(DEFAULT_LIMITS))}`,
      ...(known ? { known } : {}),
      audience: 'anyone',
    }
  })

type End = Pick<Exit, 'pressure'>

/** How much it takes nobody knows. Below the built-in limit, that one; else twice as much. */
const enough = (value: number, builtIn: number | undefined): number =>
  builtIn !== undefined && value < builtIn ? builtIn : value * 2

const MIB = 1024 * 1024

const SYMPTOMS: readonly {
  readonly words: RegExp
  readonly about: string
  readonly key: string
  /** Where the kernel tells us, and the words may mean something else. */
  readonly isTold?: true
  /** Where it shows in how the command ended, whatever was said. */
  readonly isEnd?: true
  /** Undefined where nobody set one. */
  readonly limit: (limits: Limits) => number | undefined
}[] = [
  {
    words:
      /Resource temporarily unavailable|fork: retry|can't start new thread|\bEAGAIN\b|(?:cannot|can't|unable to) fork/i,
    about: 'processes',
    key: 'processes',
    limit: ({ processes }) => processes,
  },
  {
    words: /Too many open files|\bEMFILE\b/i,
    about: 'open files',
    key: 'open_files',
    limit: ({ files }) => files,
  },
  {
    words:
      /Cannot allocate memory|MemoryError|out of memory|\bENOMEM\b|bad_alloc|memory allocation of|memory exhausted|OutOfMemory/i,
    about: 'MiB of memory',
    key: 'memory_mb',
    limit: ({ memory }) => memory / MIB,
  },
  {
    words: /CPU time limit exceeded|\bSIGXCPU\b/i,
    about: 's of processor time',
    key: 'cpu_secs',
    isEnd: true,
    limit: ({ cpu }) => cpu,
  },
  {
    words: /No space left on device|\bENOSPC\b/i,
    about: 'MiB in the private /tmp and home',
    key: 'tmp_mb',
    isTold: true, // it may be the disk that is full
    limit: ({ tmp }) => tmp / MIB,
  },
]
