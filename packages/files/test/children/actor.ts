/**
 * What a test needs a process of its own for: another user, a full disk, a death. `node actor.ts SCENE
 * DIRECTORY` prints what happened as JSON.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type CanonicalPath, parseRelPath as rel, ROOT } from '@cordon/policy'
import { type Anchor, FileError, openAmbientAnchor } from '../../src/index.ts'

const [scene = '', directory = ''] = process.argv.slice(2)
const anchor = openAmbientAnchor(directory as CanonicalPath)
const handles = (): number => readdirSync('/proc/self/fd').length

async function answer(act: () => unknown): Promise<string> {
  try {
    const result = await act()
    return Buffer.isBuffer(result) ? result.toString() : 'done'
  } catch (error) {
    if (error instanceof FileError) return error.message
    throw error
  }
}

const scenes: Record<string, () => Promise<unknown>> = {
  /** Writes half of a file and waits to be killed. */
  stall: async () => {
    const staged = anchor.stage(ROOT)
    await staged.write(Buffer.from('half'))
    console.log('ready')
    await new Promise((done) => setTimeout(done, 60_000))
    return staged.size
  },

  /** Replaces and creates files, one way after the other, until it is killed. */
  busy: async () => {
    console.log('ready')
    for (let i = 0; ; i++) {
      const content = Buffer.alloc(64 * 1024, String(i % 10))
      anchor.writeFile(rel('f'), content)
      await anchor.writeStream(rel('g'), [content.subarray(1000), content.subarray(0, 1000)])
      anchor.createExclusive(rel('h'), content)
      anchor.rename(rel('h'), rel('i'), { replace: 'file' })
    }
  },

  exit: async () => {
    await anchor.stage(ROOT).write(Buffer.from('half'))
    process.exit(0)
  },

  /** The same with a listener of the program's own: the signal is its business, and the write goes on. */
  handled: async () => {
    const signalled = new Promise((done) => process.once('SIGINT', done))
    const staged = anchor.stage(ROOT)
    const stayAlive = setTimeout(() => undefined, 60_000)
    console.log('ready')
    await signalled
    clearTimeout(stayAlive)
    await staged.write(Buffer.from('whole'))
    await staged.commit(rel('f'))
    return 'committed'
  },

  full: async () => {
    anchor.writeFile(rel('f'), 'old')
    anchor.writeFile(rel('half'), Buffer.alloc(150 * 1024))
    const big = Buffer.alloc(1 << 20)
    const before = handles()
    const log = anchor.openAppend(rel('log'))
    const answers = {
      write: await answer(() => anchor.writeFile(rel('f'), big)),
      create: await answer(() => anchor.createExclusive(rel('new'), big)),
      stream: await answer(() => anchor.writeStream(rel('f'), [big])),
      append: await answer(() => log.append(big)),
      copy: await answer(() => anchor.copy(rel('half'), rel('copy'))),
    }
    log.close()
    anchor.unlink(rel('log'))
    const leaked = handles() - before
    return {
      ...answers,
      leaked,
      f: readFileSync(join(directory, 'f'), 'utf8'),
      names: readdirSync(directory),
    }
  },

  removal: async () => {
    const { failed, files } = await anchor.removeTree(rel('t'))
    return { failed: failed?.message, files, kept: readFileSync(join(directory, 't/m/f'), 'utf8') }
  },

  /** Says which of the names it was the one to create. */
  claim: async () => {
    const won: number[] = []
    for (let i = 0; i < 200; i++)
      if ((await answer(() => anchor.createExclusive(rel(String(i)), String(process.pid)))) === 'done')
        won.push(i)
    return { pid: process.pid, won }
  },

  /** As an ordinary user among root's files; the test has laid them out. */
  user: async () => ({
    read: await answer(() => anchor.readFile(rel('private'))),
    write: await answer(() => anchor.writeFile(rel('closed/new'), 'x')),
    list: await answer(() => anchor.list(rel('unlisted'))),
    readUnlisted: await answer(() => anchor.readFile(rel('unlisted/f'))),
    writeUnlisted: await answer(() => anchor.writeFile(rel('unlisted/g'), 'x')),
    pass: await answer(() => anchor.readFile(rel('shut/f'))),
    walk: await answer(() => [...anchor.walk()]),
    walked: unreadable(anchor),
    moveOthers: await answer(() => anchor.rename(rel('shared/root'), rel('shared/moved'))),
    moveOthersOnto: await answer(() => anchor.rename(rel('shared/moved'), rel('shared/group'))),
    replaceOthers: await answer(() => anchor.writeFile(rel('shared/group'), 'x')),
    mode: (statSync(join(directory, 'shared/group')).mode & 0o7777).toString(8),
    names: readdirSync(join(directory, 'shared')).sort(),
  }),

  immutable: async () => ({
    write: await answer(() => anchor.writeFile(rel('f'), 'x')),
    unlink: await answer(() => anchor.unlink(rel('f'))),
    read: await answer(() => anchor.readFile(rel('f'))),
    names: readdirSync(directory),
  }),

  /** `d` is a mount of its own. */
  mounts: async () => ({
    move: await answer(() => anchor.rename(rel('f'), rel('d/f'))),
    moveDirectory: await answer(() => anchor.rename(rel('e'), rel('d/e'))),
    write: await answer(() => anchor.writeFile(rel('d/g'), 'x')),
    read: await answer(() => anchor.readFile(rel('d/g'))),
    names: [readdirSync(directory).sort(), readdirSync(join(directory, 'd')).sort()],
  }),
}

function unreadable(top: Anchor): string[] {
  const errors: string[] = []
  for (const entry of top.walk(ROOT, { unreadable: (error) => errors.push(error.message) }))
    if (entry.depth > 3) break
  return errors.sort()
}

console.log(JSON.stringify(await scenes[scene]?.()))
anchor.close()
