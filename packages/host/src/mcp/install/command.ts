import { spawn } from 'node:child_process'
import { show } from '@cordon/policy'
import { InstallError } from './packages.ts'

/** An installer ended with an error. What it printed may say more to who knows its format. */
export class InstallerFailed extends InstallError {
  readonly stdout: string
  readonly said: string
  constructor(program: string, code: number | null, stdout: string, said: string) {
    super(`${program} failed (${code ?? 'stopped'})${lastWords(said)}`)
    this.stdout = stdout
    this.said = said
  }
}

/** An installer that a person has, as they have configured it; it runs none of what it installs. */
export interface InstallerCall {
  readonly argv: readonly [string, ...string[]]
  /** Never the workspace: an `.npmrc` there would choose the registry. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

const MOST = 64 * 1024 * 1024

export function runInstaller({ argv, cwd, env, signal }: InstallerCall): Promise<string> {
  const [program, ...args] = argv
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: { ...env }, signal, stdio: ['ignore', 'pipe', 'pipe'] })
    const out: Buffer[] = []
    let [size, said] = [0, '']
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MOST) child.kill('SIGKILL')
      else out.push(chunk)
    })
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said = (said + chunk).slice(-16_384)))
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        new InstallError(
          signal.aborted
            ? `${program} was stopped; nothing was installed`
            : error.code === 'ENOENT'
              ? `${program} is not installed`
              : `cannot run ${program}: ${error.code ?? error.message}`,
        ),
      ),
    )
    child.on('close', (code) => {
      const stdout = Buffer.concat(out).toString('utf8')
      if (code === 0) resolve(stdout)
      else reject(new InstallerFailed(program, code, stdout, said))
    })
  })
}

/** What an installer complains about is about what somebody else published: shown, line by line. */
export const lastWords = (said: string): string =>
  said
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^npm (?:warn|notice)|A complete log|^\[notice\]/i.test(line))
    .slice(-8)
    .map((line) => `\n  ${show(line)}`)
    .join('')
