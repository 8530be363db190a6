/**
 * An installer that starts no other program. What npm and pip fetch is data to them, until they prepare a git repository or
 * build a source archive, and that is to run what a stranger published. Which options prevent it differs from version to
 * version, and none covers everything; so the interpreter is told, under the installer's feet (decision 0277).
 */

/** What is said instead, in the installer's own error output. */
export const ALONE = 'an installer starts no other program'

/** For `NODE_OPTIONS`: every way of Node to start a process fails. A Node that does not know the option does not start. */
export function nodeAlone(env: Readonly<Record<string, string | undefined>>): string {
  const before = env['NODE_OPTIONS'] ?? ''
  return `${before} --import=data:text/javascript,${encodeURIComponent(NODE)}`.trimStart()
}

const NODE = `import processes from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
const refuse = () => { throw Object.assign(new Error('${ALONE}'), { code: 'EPERM' }) }
processes.ChildProcess.prototype.spawn = refuse
for (const name of ['spawn', 'fork', 'exec', 'execFile', 'spawnSync', 'execSync', 'execFileSync']) processes[name] = refuse
syncBuiltinESMExports()`

/** `python3` arguments that run pip; an audit hook cannot be taken back (PEP 578). What pip only wonders about is an OSError to it. */
export const PIP_ALONE = [
  '-I',
  '-c',
  `import runpy, sys
def alone(event, args):
    if event in ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "pty.spawn"):
        raise PermissionError(1, "${ALONE}")
sys.addaudithook(alone)
runpy.run_module("pip", run_name="__main__", alter_sys=True)`,
] as const
