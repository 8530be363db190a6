import { closeSync, constants, fsync, fsyncSync, unlinkSync, write, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import { type RelPath } from '@cordon/policy'
import { errnoOf, fileError, Moved, type Subject } from './errors.ts'
import { type Handles, type Held } from './handles.ts'
import { settleExpect, settleExpectNow } from './hash.ts'
import { inspectTarget, type Slot, publish, setMode, type WriteOptions } from './publish.ts'
import { guardTemp } from './temp-guard.ts'

const writeAsync = promisify(write)
const fsyncAsync = promisify(fsync)

/**
 * A file that does not exist yet: written beside its place under a temporary name, and given its own in
 * one step by `commit`. Until then nobody sees it; left without a commit, it is gone. One call at a time.
 */
export class StagedFile implements AsyncDisposable {
  readonly #handles: Handles
  readonly #held: Held
  readonly #name: string
  readonly #subject: Subject
  readonly #life: 'one call' | 'long'
  readonly #unguard: () => void
  #fd: number
  #size = 0
  #running: Promise<void> | undefined

  /** Takes over `held`, the directory of the temporary file `name`; for `one call` also that of the target. */
  constructor(handles: Handles, held: Held, path: RelPath, life: 'one call' | 'long', name: string) {
    this.#handles = handles
    this.#held = held
    this.#name = name
    this.#subject = handles.subject('write', path)
    this.#life = life
    try {
      this.#fd = held.directory.createRegular(this.#name, constants.O_WRONLY, 0o600)
    } catch (error) {
      held.release()
      throw fileError(error, this.#subject)
    }
    this.#unguard = life === 'long' ? guardTemp(() => this.#unlink()) : () => undefined
  }

  get size(): number {
    return this.#size
  }

  /** Resolves when the kernel has taken it: awaiting each write is the back-pressure. */
  write(data: Uint8Array): Promise<void> {
    return this.#alone(async () => {
      const fd = this.#open()
      for (let done = 0; done < data.length;)
        done += (await writeAsync(fd, data, done, data.length - done, null)).bytesWritten
      this.#size += data.length
    })
  }

  writeNow(data: Uint8Array): void {
    this.#orDiscard(() => {
      const fd = this.#open()
      for (let done = 0; done < data.length;) done += writeSync(fd, data, done)
      this.#size += data.length
    })
  }

  /** Durable when it resolves. The path may be in another directory than the temporary file. */
  commit(path: RelPath, options: WriteOptions = {}): Promise<void> {
    return this.#alone(async () => {
      const subject = this.#handles.subject('write', path)
      const { fd, target, release } = this.#prepare(path, options)
      try {
        await fsyncAsync(fd)
        this.#publish(path, target, await settleExpect(target, options.expect, subject))
      } catch (error) {
        throw fileError(error, subject)
      } finally {
        release()
      }
    })
  }

  commitNow(path: RelPath, options: WriteOptions = {}): void {
    const subject = this.#handles.subject('write', path)
    const { fd, target, release } = this.#prepare(path, options)
    try {
      fsyncSync(fd)
      this.#publish(path, target, settleExpectNow(target, options.expect, subject))
    } catch (error) {
      this.#discard()
      throw fileError(error, subject)
    } finally {
      release()
    }
  }

  /** Nothing remains. After a commit it does nothing. */
  async abort(): Promise<void> {
    await this.#running?.catch(() => undefined)
    this.#discard()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.abort()
  }

  /**
   * One at a time, and a failure ends it: the descriptor is closed only when no call is under way, because
   * its number may be given to another file at once.
   */
  #alone(act: () => Promise<void>): Promise<void> {
    if (this.#running)
      return Promise.reject(new Error('a staged file does one thing at a time: await the last call'))
    this.#running = act()
      .catch((error: unknown) => {
        this.#discard()
        throw fileError(error, this.#subject)
      })
      .finally(() => (this.#running = undefined))
    return this.#running
  }

  #prepare(path: RelPath, { expect, mode }: WriteOptions): { fd: number; target: Slot; release: () => void } {
    return this.#orDiscard(() => {
      const fd = this.#open()
      const { held, name } = this.#reachTarget(path)
      const target = { directory: held.directory, name }
      try {
        const old = inspectTarget(target, expect, this.#handles.subject('write', path))
        setMode(fd, old, mode)
      } catch (error) {
        held.release()
        throw fileError(error, this.#handles.subject('write', path))
      }
      return { fd, target, release: () => held.release() }
    })
  }

  /** A long write reaches its target again: its directory may have been moved since. */
  #reachTarget(path: RelPath): { held: Held; name: string } {
    if (this.#life === 'long') return this.#handles.reachParent(path, 'write')
    return { held: this.#held.retain(), name: this.#handles.entry(path, 'write').name }
  }

  #publish(path: RelPath, target: Slot, expect: WriteOptions['expect']): void {
    inspectTarget(target, expect, this.#handles.subject('write', path))
    try {
      publish({ directory: this.#held.directory, name: this.#name }, target, expect)
    } catch (error) {
      // The target's directory is held, so what is missing is our own file: it was swept or removed.
      throw errnoOf(error) === 'ENOENT' ? new Moved() : error
    }
    this.#close()
  }

  #open(): number {
    if (this.#fd < 0) throw new Error('this staged file was committed or aborted')
    return this.#fd
  }

  #orDiscard<T>(act: () => T): T {
    try {
      return act()
    } catch (error) {
      this.#discard()
      throw fileError(error, this.#subject)
    }
  }

  #discard(): void {
    if (this.#fd < 0) return
    try {
      this.#unlink()
    } catch {
      // The error that led here matters more; the next sweep takes what could not be removed now.
    }
    this.#close()
  }

  #unlink(): void {
    this.#held.directory.at((base) => unlinkSync(`${base}/${this.#name}`))
  }

  #close(): void {
    this.#unguard()
    closeSync(this.#fd)
    this.#fd = -1
    this.#held.release()
  }
}
