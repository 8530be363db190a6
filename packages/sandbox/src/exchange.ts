import { type Readable, type Writable } from 'node:stream'
import { binding } from './bindings.ts'

/** What a program is told, all of it at once, and who hears what it says. */
export interface Exchange {
  readonly input: string
  readonly onOutput: (bytes: Buffer) => void
  readonly onErrors: (bytes: Buffer) => void
}

/** The three pipes of a process, by the parts that Node's streams are made of (decision 0435). */
export interface RawPipe {
  /** Called with what was read, or with nothing at the end. */
  onread: (bytes: ArrayBuffer | undefined) => void
  /** Zero, or what is wrong. */
  readStart(): number
  /** Zero, or what is wrong. What the kernel does not take at once is kept and written later. */
  writeUtf8String(request: object, text: string): number
  /** Zero: later, after what was written; otherwise it is done, or there is nobody any more. */
  shutdown(request: object): number
  close(): void
}

/**
 * Tells and hears by the bare pipes: Node's streams, and `net`, would be loaded by every `cordon tool run`. `heard` resolves when
 * both outputs were read to their end.
 */
export function exchangeOver(
  [stdin, stdout, stderr]: readonly [RawPipe, RawPipe, RawPipe],
  { input, onOutput, onErrors }: Exchange,
): { readonly heard: Promise<unknown>; readonly stopTelling: () => void } {
  const stopTelling = tell(stdin, input)
  return { heard: Promise.all([hear(stdout, onOutput), hear(stderr, onErrors)]), stopTelling }
}

/** It need not listen: how it ends says what happened. Returns how to give up what it has not taken. */
function tell(pipe: RawPipe, text: string): () => void {
  const { WriteWrap, ShutdownWrap } = binding('stream_wrap') as Record<string, new () => Request>
  let isOpen = true
  const close = (): void => {
    if (isOpen) pipe.close()
    isOpen = false
  }
  const write = new WriteWrap!()
  write.oncomplete = () => undefined
  const shutdown = new ShutdownWrap!()
  shutdown.oncomplete = close
  // The end is told after what is still to be written.
  if (pipe.writeUtf8String(write, text) !== 0 || pipe.shutdown(shutdown) !== 0) close()
  return close
}

interface Request {
  oncomplete: () => void
}

const hear = (pipe: RawPipe, heard: (bytes: Buffer) => void): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      pipe.close()
      resolve()
    }
    pipe.onread = (bytes) => (bytes ? heard(Buffer.from(bytes)) : end())
    if (pipe.readStart() !== 0) end()
  })

/** The same by Node's streams, with every other Node. */
export function exchangeByStreams(
  { stdin, stdout, stderr }: Streams,
  { input, onOutput, onErrors }: Exchange,
): void {
  stdout?.on('data', onOutput)
  stderr?.on('data', onErrors)
  stdin?.on('error', () => undefined) // it need not listen
  stdin?.end(input)
}

interface Streams {
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
}
