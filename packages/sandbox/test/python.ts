import { existsSync } from 'node:fs'
import { test } from 'vitest'

export const PYTHON = '/usr/bin/python3'

/** System calls by their number need the machine they are numbers of. */
export const byNumber = test.runIf(process.arch === 'x64' && existsSync(PYTHON))

/** The beginning of an attack: each attempt is a line of its own, with what it gave or the name of the error. */
export const TRY = `
import ctypes, errno, fcntl, os, resource, signal, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    result = libc.syscall(*args)
    if result < 0: raise OSError(ctypes.get_errno(), '')
    return result
def attempt(name, f):
    try: print(name, f(), flush=True)
    except OSError as e: print(name, errno.errorcode[e.errno], flush=True)
`
