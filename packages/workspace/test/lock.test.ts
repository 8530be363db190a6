import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { acquireLock, LockHeldError, tryLock, withLock } from '@cordon/workspace'
import { expect, test } from 'vitest'
import { firstLine, HOLDER, kill, startChild, tempDir } from './fixture.ts'

/** The module itself, as the lock loads it. */
const sqlite = createRequire(import.meta.url)('node:sqlite') as {
  DatabaseSync: typeof import('node:sqlite').DatabaseSync
}
const options = { what: 'the thing', holder: HOLDER, wait: 0 }
const lockPath = (): string => join(tempDir(), 'a.lock')

test('a lock that nobody holds is taken at the first attempt, its file stays empty, and nothing but its note is beside it', async () => {
  const file = lockPath()
  const lock = await acquireLock(file, options)
  lock.assertHeld()
  expect(statSync(file).size).toBe(0)
  expect(readdirSync(dirname(file)).sort()).toEqual(['a.lock', 'a.lock.holder'])
  lock.release()
  expect(() => lock.assertHeld()).toThrow(
    `the lock of the thing was lost: ${file} was deleted or replaced while it was held`,
  )
})

test('the second in the same process is told who holds it', async () => {
  const file = lockPath()
  await withLock(file, options, async () => {
    expect(tryLock(file, options)).toBeUndefined()
    const error = await acquireLock(file, options).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(LockHeldError)
    const since = (error as LockHeldError).holder!.since
    expect((error as LockHeldError).message).toBe(
      `the thing is in use by "cordon test" (pid ${process.pid}) since ${since}; try again when it has finished`,
    )
  })
  tryLock(file, options)!.release()
})

test('a failing piece of work releases the lock', async () => {
  const file = lockPath()
  await expect(withLock(file, options, () => Promise.reject(new Error('work failed')))).rejects.toThrow(
    'work failed',
  )
  tryLock(file, options)!.release()
})

test('another process is excluded until it releases', async () => {
  const file = lockPath()
  const child = startChild('hold-lock', [file])
  expect(await firstLine(child)).toBe('held')
  await expect(acquireLock(file, { ...options, wait: 30 })).rejects.toMatchObject({
    code: 'LOCK_HELD',
    holder: { pid: child.pid, command: 'cordon hold' },
  })
  const waiting = acquireLock(file, { ...options, wait: 20_000 })
  child.stdin!.end()
  const lock = await waiting
  lock.release()
  await once(child, 'exit')
})

test('kill -9 of the holder frees the lock at once, and its stale note excludes nobody', async () => {
  const file = lockPath()
  const child = startChild('hold-lock', [file])
  expect(await firstLine(child)).toBe('held')
  await kill(child)
  expect(JSON.parse(readFileSync(`${file}.holder`, 'utf8'))).toMatchObject({ pid: child.pid })
  tryLock(file, options)!.release()
})

test('a program that the holder started does not keep the lock', async () => {
  const file = lockPath()
  const child = startChild('hold-lock', [file, 'child'])
  const [, pid] = (await firstLine(child)).split(' ')
  await kill(child)
  try {
    process.kill(Number(pid), 0) // it lives
    tryLock(file, options)!.release()
  } finally {
    process.kill(Number(pid), 'SIGKILL')
  }
})

test('retiring a lock removes its files, and lets the next one in', async () => {
  const file = lockPath()
  const lock = await acquireLock(file, options)
  const waiting = acquireLock(file, { ...options, wait: 10_000 })
  lock.retire()
  expect(() => lock.assertHeld()).toThrow('was deleted or replaced')
  const next = await waiting
  next.assertHeld()
  lock.retire() // the second time it is not ours to remove
  next.assertHeld()
  next.retire()
  expect(readdirSync(dirname(file))).toEqual([])
})

test('waiting ends with the signal, and a signal that came before takes no lock', async () => {
  const file = lockPath()
  const abort = new AbortController()
  await withLock(file, options, async () => {
    const waiting = acquireLock(file, { ...options, wait: 20_000, signal: abort.signal })
    setTimeout(() => abort.abort(), 20)
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
  })
  await expect(acquireLock(file, { ...options, signal: abort.signal })).rejects.toMatchObject({
    name: 'AbortError',
  })
  tryLock(file, options)!.release()
})

test('a holder whose lock file was deleted or replaced finds out before it acts', async () => {
  const file = lockPath()
  const first = await acquireLock(file, options)
  rmSync(file)
  expect(() => first.assertHeld()).toThrow('was deleted or replaced')
  const second = await acquireLock(file, options)
  expect(() => first.assertHeld()).toThrow('was deleted or replaced')
  first.release()
  second.assertHeld()
  expect(tryLock(file, options)).toBeUndefined()
  second.release()
})

test.for(['release', 'retire'] as const)('to %s a lost lock leaves the new holder alone', async (how) => {
  const file = lockPath()
  const first = await acquireLock(file, options)
  renameSync(file, `${file}.moved`)
  const second = await acquireLock(file, { ...options, holder: { pid: 7, command: 'second' } })
  first[how]()
  second.assertHeld()
  await expect(acquireLock(file, options)).rejects.toMatchObject({ holder: { pid: 7, command: 'second' } })
  second.release()
})

test('a lock file that is replaced twice meanwhile, the second time under the number it had, is not taken for the first', () => {
  const file = lockPath()
  writeFileSync(file, '')
  const real = sqlite.DatabaseSync
  let isFirst = true
  sqlite.DatabaseSync = class extends real {
    constructor(path: string) {
      if (isFirst) {
        rmSync(file)
        writeFileSync(`${file}.spare`, '') // has the number now, where the filesystem gives it out again
        writeFileSync(file, '')
      }
      super(path)
      if (!isFirst) return
      isFirst = false
      rmSync(`${file}.spare`)
      rmSync(file)
      writeFileSync(file, '')
    }
  }
  try {
    const lock = tryLock(file, options)
    expect(isFirst).toBe(false)
    expect(tryLock(file, options)).toBeUndefined()
    lock!.release()
  } finally {
    sqlite.DatabaseSync = real
  }
})

test('a file that is no lock, or a directory that is not there, is an error and not a lock', async () => {
  const file = lockPath()
  writeFileSync(file, 'some text that SQLite does not take for one of its files'.repeat(20))
  await expect(acquireLock(file, options)).rejects.toMatchObject({
    code: 'LOCK_UNAVAILABLE',
    message: `cannot lock the thing with ${file}: file is not a database`,
  })
  await expect(acquireLock(join(file, 'x', 'y.lock'), options)).rejects.toMatchObject({
    code: 'LOCK_UNAVAILABLE',
  })
})

test('four processes and this one never overlap', async () => {
  expect(await countTogether([])).toBe(300)
})

test('nor do they when each deletes the lock file before it lets go', async () => {
  expect(await countTogether(['delete'])).toBe(300)
})

async function countTogether(afterwards: readonly string[]): Promise<number> {
  const dir = tempDir()
  const [lock, counter] = [join(dir, 'n.lock'), join(dir, 'n')]
  writeFileSync(counter, '0')
  const children = Array.from({ length: 4 }, () => startChild('count', [lock, counter, '50', ...afterwards]))
  const counting = { what: 'the counter', holder: HOLDER, wait: 600_000 }
  const here = async (): Promise<void> => {
    for (let i = 0; i < 50; i++)
      await withLock(lock, counting, async () => {
        const n = Number(readFileSync(counter, 'utf8'))
        await Promise.resolve()
        writeFileSync(counter, String(n + 1))
      })
  }
  await Promise.all([here(), here(), ...children.map((child) => once(child, 'exit'))])
  return Number(readFileSync(counter, 'utf8'))
}
