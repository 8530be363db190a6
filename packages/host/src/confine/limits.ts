import { constants } from 'node:os'
import { DEFAULT_LIMITS, type Exit, type Limits } from '@cordon/sandbox'
import type { Hint } from './hint.ts'

/**
 * What programs say when they run into a bound of SPEC 4.3. The kernel does not tell us, so it is a guess; but for the signal of one,
 * which is reported as a limit, so that only the fix is left to say.
 */
export const findLimits = (text: string, limits: Limits, exit?: End): Hint[] =>
  SYMPTOMS.flatMap(({ about, key, limit, words, isLikely, end, isKnown }) => {
    const value = limit(limits)
    if (value === undefined) return [] // and how it ended is not looked at: that would load a module of Node (decision 0435)
    const isReached = (words.test(text) && isLikely?.(exit) !== false) || (exit && end?.(exit))
    if (!isReached) return []
    const known = exit !== undefined && isKnown?.(exit) === true
    return {
      about: key,
      text: `the limit of ${value} ${about} was ${known ? '' : 'probably '}reached`,
      fix: `--cfg sandbox.limits.${key}=${enough(value, limit(DEFAULT_LIMITS))}`,
      ...(known ? { known } : {}),
      audience: 'anyone',
    }
  })

type End = Pick<Exit, 'code' | 'signal' | 'pressure'>

/** How much it takes nobody knows. Below the built-in limit, that one; else twice as much. */
const enough = (value: number, builtIn: number | undefined): number =>
  builtIn !== undefined && value < builtIn ? builtIn : value * 2

const MIB = 1024 * 1024

const SYMPTOMS: readonly {
  readonly words: RegExp
  readonly about: string
  readonly key: string
  /** Of words that also mean something else. */
  readonly isLikely?: (exit: End | undefined) => boolean
  /** Where it shows in how the command ended. */
  readonly end?: (exit: End) => boolean
  /** Where that is what the limit itself does, and `Exit.pressure` says so. */
  readonly isKnown?: (exit: End) => boolean
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
    end: ({ code, signal }) => signal === 'SIGXCPU' || code === 128 + constants.signals.SIGXCPU,
    isKnown: ({ signal }) => signal === 'SIGXCPU', // a shell's 128 and its number could be anybody's
    limit: ({ cpu }) => cpu,
  },
  {
    words: /No space left on device|\bENOSPC\b/i,
    about: 'MiB in the private /tmp and home',
    key: 'tmp_mb',
    isLikely: (exit) => exit !== undefined && exit.pressure.length > 0, // it may be the disk that is full
    limit: ({ tmp }) => tmp / MIB,
  },
]
