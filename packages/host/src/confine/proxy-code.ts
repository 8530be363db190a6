import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import type { openProxy } from '@cordon/sandbox'

type OpenProxy = typeof openProxy

/** Where the proxy is bundled, beside the program; not defined where we run from source (rolldown.config.ts). */
declare const CORDON_PROXY: string | undefined

/**
 * Reads the proxy's code now and runs it when it is asked for. Between the two a command may have been started, and Cordon may
 * be installed where the command can write: what is run is what was there before (SPEC 4.8, decision 0212).
 */
export function readProxyCode(): () => Promise<OpenProxy> {
  return (code ??= typeof CORDON_PROXY === 'undefined' ? fromSource : fromMemory(CORDON_PROXY))
}

let code: (() => Promise<OpenProxy>) | undefined

const fromSource = async (): Promise<OpenProxy> => (await import('@cordon/sandbox')).openProxy

function fromMemory(name: string): () => Promise<OpenProxy> {
  const file = join(dirname(import.meta.filename), name)
  const bytes = readFileSync(file) // as they are: a string of them would be a part of every start
  let loaded: OpenProxy | undefined
  return () => {
    loaded ??= load(bytes.toString('latin1'), file)
    return Promise.resolve(loaded)
  }
}

/** The file is ASCII, and one function, as a module of CommonJS is to Node. */
function load(text: string, file: string): OpenProxy {
  const exports: Partial<{ openProxy: OpenProxy }> = {}
  const main = new Script(text, { filename: file }).runInThisContext() as Wrapped
  main(exports, createRequire(file), file)
  if (!exports.openProxy) throw new Error('the proxy’s code has no proxy in it')
  return exports.openProxy
}

type Wrapped = (exports: object, require: NodeJS.Require, filename: string) => void
