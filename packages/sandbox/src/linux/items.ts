/** One instruction to the launcher, in its vocabulary (launcher/src/plan.h). Paths are absolute. */
export type Item =
  | { readonly tag: 'flags'; readonly flags: readonly Flag[] }
  | { readonly tag: 'tmp-size'; readonly bytes: number }
  | { readonly tag: 'limit'; readonly limit: LimitName; readonly value: number }
  | { readonly tag: 'dir'; readonly path: string; readonly mode: number }
  | { readonly tag: 'file'; readonly path: string }
  | { readonly tag: 'link'; readonly path: string; readonly target: string }
  | { readonly tag: 'content'; readonly path: string; readonly text: string }
  | { readonly tag: 'private'; readonly path: string; readonly mode: number }
  | { readonly tag: 'bind'; readonly path: string; readonly attributes: readonly MountAttribute[] }
  | { readonly tag: 'pin-link'; readonly path: string }
  | { readonly tag: 'cover'; readonly path: string; readonly inside: 'empty' | 'bound-back' }
  | { readonly tag: 'cover-private'; readonly path: string; readonly when: 'in-turn' | 'last' }
  | { readonly tag: 'names'; readonly path: string }
  | { readonly tag: 'seal'; readonly path: string }
  | { readonly tag: 'proc'; readonly path: string; readonly highestPid: number }
  | { readonly tag: 'devpts'; readonly path: string }
  | { readonly tag: 'allow'; readonly path: string; readonly rights: readonly LandlockRight[] }
  | { readonly tag: 'listen'; readonly address: string; readonly port: number; readonly over: 'tcp' | 'udp' }
  | { readonly tag: 'cwd'; readonly path: string }
  | { readonly tag: 'exec'; readonly path: string }
  | { readonly tag: 'arg'; readonly text: string }
  | { readonly tag: 'env'; readonly text: string }
  | { readonly tag: 'host'; readonly pid: number }
  | { readonly tag: 'left'; readonly path: string; readonly told: boolean }
  | { readonly tag: 'replaced'; readonly path: string; readonly fd: number; readonly there: boolean }

export type Flag =
  | 'namespaces'
  | 'landlock'
  | 'keep-terminal'
  | 'unix-sockets'
  | 'inet-sockets'
  | 'keep-errors'
  | 'keep-output'
  | 'keep-output-apart'
  | 'no-truncation'
  | 'no-execution'
export type LimitName = 'cpu' | 'data' | 'processes' | 'files' | 'core'
export type MountAttribute = 'read-only' | 'no-exec' | 'no-suid' | 'no-dev'

export type LandlockRight =
  | 'execute'
  | 'write-file'
  | 'read-file'
  | 'read-dir'
  | 'remove-dir'
  | 'remove-file'
  | 'make-dir'
  | 'make-reg'
  | 'make-sock'
  | 'make-fifo'
  | 'make-sym'
  | 'refer'
  | 'truncate'
  | 'ioctl-dev'
