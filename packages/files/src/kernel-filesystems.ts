import { lstatSync, statfsSync } from 'node:fs'
import { type Directory, type OpenedFile } from './directory.ts'
import { describeStats } from './entry.ts'
import { Closed, NotOnDisk } from './errors.ts'

/** statfs(2): filesystems whose "files" are the kernel itself, so that reading or writing one is doing something. */
const KERNEL: ReadonlySet<number> = new Set([
  0x9fa0, // proc
  0x62656572, // sysfs
  0x64626720, // debugfs
  0x74726163, // tracefs
  0x73636673, // securityfs
  0xcafe4a11, // bpf
  0x27e0eb, // cgroup
  0x63677270, // cgroup2
  0x62656570, // configfs
  0x6165676c, // pstore
  0xde5e81e4, // efivarfs
  0xf97cff8c, // selinuxfs
  0x42494e4d, // binfmt_misc
  0x1cd1, // devpts
  0x19800202, // mqueue
])

/** devtmpfs says that it is this, as does every filesystem in memory. */
const TMPFS = 0x01021994

let ofDevices: bigint | undefined | 'unknown' = 'unknown'

/** The device of `/dev`, where that is a filesystem of its own: it is the same wherever else it is mounted. */
function deviceOfDevices(): bigint | undefined {
  if (ofDevices !== 'unknown') return ofDevices
  const [dev, root] = ['/dev', '/'].map(
    (path) => lstatSync(path, { bigint: true, throwIfNoEntry: false })?.dev,
  )
  return (ofDevices = dev === root ? undefined : dev)
}

export interface DiskOptions {
  /** By `FileStat.identity`: such a directory is not entered either, under whichever name or mount it is met. */
  readonly closed?: (identity: string) => boolean
}

/** SPEC 7.3: a directory below which nothing of the kernel is entered, wherever it is mounted. */
export class DiskDirectory implements Directory {
  readonly guarantee: Directory['guarantee']
  readonly #inner: Directory
  readonly #options: DiskOptions

  /** Takes over `inner`, and closes it if it is not to be entered itself. */
  constructor(inner: Directory, options: DiskOptions) {
    this.guarantee = inner.guarantee
    this.#inner = inner
    this.#options = options
    const refused = inner.at((base) => refusalOf(`${base}/.`, options))
    if (!refused) return
    inner.close()
    throw refused
  }

  at<T>(call: (base: string) => T): T {
    return this.#inner.at(call)
  }

  openDirectory(name: string): DiskDirectory {
    return new DiskDirectory(this.#inner.openDirectory(name), this.#options)
  }

  openRegular(name: string, flags: number): OpenedFile {
    return this.#inner.openRegular(name, flags)
  }

  createRegular(name: string, flags: number, mode: number): number {
    return this.#inner.createRegular(name, flags, mode)
  }

  whereabouts(): string | undefined {
    return this.#inner.whereabouts()
  }

  close(): void {
    this.#inner.close()
  }
}

function refusalOf(path: string, { closed }: DiskOptions): Error | undefined {
  const { type } = statfsSync(path)
  if (KERNEL.has(type)) return new NotOnDisk()
  if (type === TMPFS && lstatSync(path, { bigint: true }).dev === deviceOfDevices()) return new NotOnDisk()
  if (closed === undefined) return undefined
  return closed(describeStats(lstatSync(path, { bigint: true })).identity) ? new Closed() : undefined
}
