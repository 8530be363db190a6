import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type CanonicalPath } from '@cordon/policy'
import { attachPath, type AttachContext, Blobs, refreshResource, type Resource } from '@cordon/workspace'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER } from './fixture.ts'

/** SPEC 1.3, 6.4: something confined that runs at the same time exchanges a directory for a link to where it may not read. */
interface Scene {
  readonly root: string
  readonly context: AttachContext
  /** `docs/sub` is a link to a place outside that has files of the same names. */
  readonly exchange: () => void
  readonly texts: (resources: readonly Resource[]) => Promise<readonly string[]>
}

async function scene(): Promise<Scene> {
  const { base, workspace } = await freshWorkspace()
  const { root } = workspace
  const outside = join(base, 'home/private')
  for (const dir of [join(root, 'docs/sub'), outside]) mkdirSync(dir, { recursive: true })
  writeFileSync(join(root, 'docs/a'), 'inside')
  for (const name of ['a', 'b', 'c']) writeFileSync(join(root, 'docs/sub', name), 'inside')
  for (const name of ['a', 'b', 'c', 'hidden']) writeFileSync(join(outside, name), 'TOPSECRET')
  const blobs = new Blobs({ workspace, holder: HOLDER, now: () => new Date() })
  const sub = join(root, 'docs/sub')
  return {
    root,
    context: { workspace, cwd: root, store: blobs.shared },
    exchange: () => {
      renameSync(sub, join(root, 'old'))
      symlinkSync(outside, sub)
    },
    texts: async (resources) =>
      Promise.all(resources.map(async (each) => (await blobs.read(each, 100)).toString())),
  }
}

const MEANWHILE = (input: string, root: string, at = 'docs/sub'): string =>
  `cannot attach ${input}: ${root}/${at}: it is a symbolic link`

test('the attack: exchanged before it is entered, between two files, and after what was named was looked at', async () => {
  const listed = await scene()
  const entering = attachPath('docs', { ...listed.context, leaveOut: () => (listed.exchange(), false) })
  await expect(entering).rejects.toThrow(MEANWHILE('docs', listed.root))

  for (const input of ['docs', 'docs/sub', 'docs/sub/*', 'docs/**/*']) {
    const opened = await scene()
    let files = 0
    const onFile = (): void => {
      if (++files === (input.startsWith('docs/sub') ? 1 : 2)) opened.exchange()
    }
    await expect(attachPath(input, { ...opened.context, onFile })).rejects.toThrow(
      MEANWHILE(input, opened.root),
    )
  }

  for (const input of ['docs/sub', 'docs/sub/b', 'docs/sub/*']) {
    const named = await scene()
    const admit = async (): Promise<void> => named.exchange()
    await expect(attachPath(input, { ...named.context, admit })).rejects.toThrow(MEANWHILE(input, named.root))
  }
})

test('the attack: a place outside is held as well, once it was admitted', async () => {
  const { root, context, exchange } = await scene()
  const other = {
    ...context,
    workspace: { ...context.workspace, root: join(root, 'docs/none') as CanonicalPath },
  }
  const attached = attachPath('docs/sub', { ...other, admit: async () => exchange() })
  await expect(attached).rejects.toThrow(MEANWHILE('docs/sub', root))
})

test('the attack: refresh_resource, exchanged between its look and its reading', async () => {
  const { context, exchange } = await scene()
  const later: AttachContext = {
    ...context,
    get batch() {
      exchange()
      return undefined
    },
  }
  const [text] = await refreshResource('file:///docs/sub/a', later).then(
    async (resource) => [resource.uri],
    (error: unknown) => [(error as Error).message],
  )
  expect(text).toBe('cannot refresh "file:///docs/sub/a": the path now leads to something else')
})

test('the attack with a real process beside it: what is kept was inside', { timeout: 20_000 }, async () => {
  const { root, context, texts } = await scene()
  const outside = join(context.workspace.home, 'private')
  const swap = `const { renameSync: mv, symlinkSync } = require('node:fs'); symlinkSync(${JSON.stringify(outside)}, 'alt')
    process.send('ready'); for (const end = Date.now() + 3000; Date.now() < end; ) {
      mv('docs/sub', 'x'); mv('alt', 'docs/sub'); mv('docs/sub', 'alt'); mv('x', 'docs/sub') }`
  const child = spawn(process.execPath, ['-e', swap], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  await new Promise((resolve) => child.once('message', resolve))
  const kept: Resource[] = []
  while (child.exitCode === null && child.signalCode === null) {
    await attachPath('docs', context).then(
      (all) => kept.push(...all),
      () => undefined,
    )
    await refreshResource('file:///docs/sub/a', context).then(
      (one) => kept.push(one),
      () => undefined,
    )
  }
  await ended
  expect(kept.length).toBeGreaterThan(0)
  expect([...new Set(await texts(kept))]).toEqual(['inside'])
})
