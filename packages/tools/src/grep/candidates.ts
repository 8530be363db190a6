import { spawn } from 'node:child_process'
import { queryArguments, type Query } from './ripgrep.ts'

/**
 * The files below a directory that may match, asked of ripgrep on the tree itself. It walks by path, so a
 * directory that is swapped for a link may lead it anywhere this process can read. Therefore only for a
 * process that the kernel confines (decision 0071), and only as a hint: what is shown is read again through
 * an anchor. Undefined when it cannot be had; then every file is a candidate.
 */
export function findCandidates(
  program: string,
  query: Query,
  directory: string,
  milliseconds: number,
): Promise<ReadonlySet<string> | undefined> {
  const args = [
    '--no-config',
    '--files-with-matches',
    '--null',
    '--no-messages',
    '--no-ignore',
    '--hidden',
    '--text',
  ]
  const child = spawn(program, [...args, ...queryArguments(query), '--', '.'], {
    cwd: directory,
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: milliseconds,
    killSignal: 'SIGKILL',
  })
  const output: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  return new Promise((resolve) => {
    child.once('error', () => resolve(undefined))
    child.once('close', (code) => {
      // 2: some file could not be read, or the pattern is wrong; the search itself will say so.
      if (code !== 0 && code !== 1 && code !== 2) return resolve(undefined)
      const names = Buffer.concat(output).toString('utf8').split('\0')
      resolve(new Set(names.map((name) => name.replace(/^\.\//, ''))))
    })
  })
}
