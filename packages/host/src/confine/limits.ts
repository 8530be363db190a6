import type { Limits } from '@cordon/sandbox'
import type { Hint } from './hint.ts'

/** What programs say when they run into a bound of SPEC 4.3. The kernel does not tell us, so it is a guess. */
export const findLimits = (text: string, limits: Limits): Hint[] =>
  SYMPTOMS.filter(({ words }) => words.test(text)).flatMap(({ about, key, limit }) => {
    const value = limit(limits)
    if (value === undefined) return []
    return {
      about: key,
      text: `the limit of ${value} ${about} was probably reached`,
      fix: `--cfg sandbox.limits.${key}=${value * 2}`,
      audience: 'anyone',
    }
  })

const MIB = 1024 * 1024

const SYMPTOMS: readonly {
  readonly words: RegExp
  readonly about: string
  readonly key: string
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
    about: 'seconds of processor time',
    key: 'cpu_secs',
    limit: ({ cpu }) => cpu,
  },
]
