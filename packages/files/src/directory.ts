import { type BigIntStats, constants } from 'node:fs'

/**
 * `exact`: what was reached is what is touched; a swap at any moment loses to an error.
 * `verified`: checked before and after each call; a swap and swap-back within one call is not noticed.
 */
export type Guarantee = 'exact' | 'verified'

/**
 * One held directory, the only thing that differs between platforms. All other code of this package
 * works on single names inside it, so whoever holds one can never be led outside by a path.
 */
export interface Directory {
  readonly guarantee: Guarantee
  /** Runs one system call that follows no link in the last component, on `${base}/${name}`. */
  at<T>(call: (base: string) => T): T
  /** A directory below; a link is refused as `WrongKind`. */
  openDirectory(name: string): Directory
  /** An existing regular file; links, FIFOs, sockets and devices are refused without opening them. */
  openRegular(name: string, flags: number): OpenedFile
  /** A new file, exclusively: whatever is there already is an `EEXIST`. */
  createRegular(name: string, flags: number, mode: number): number
  /** Where the kernel says this directory is now; undefined when nobody can say. */
  whereabouts(): string | undefined
  close(): void
}

export interface OpenedFile {
  readonly fd: number
  readonly stats: BigIntStats
}

/** Not on every platform; where a flag is missing, `verified` does its work by looking. */
export const O_DIRECTORY: number = constants.O_DIRECTORY ?? 0
export const O_NOFOLLOW: number = constants.O_NOFOLLOW ?? 0
/** A handle that opens nothing. Linux on every architecture that Node is built for, which does not export it; nowhere else. */
export const O_PATH = 0o10000000
export const O_NONBLOCK: number = constants.O_NONBLOCK ?? 0
