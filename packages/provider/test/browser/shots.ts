/** Pictures for the documents and for who changes the page: `npm run shots DIRECTORY`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Person } from './browser.ts'
import { BrowserPlace, startBrowser } from './browser.ts'
import { content, send } from '../place.ts'

const out = process.argv[2] ?? 'docs/images'
mkdirSync(out, { recursive: true })
const browser = await startBrowser()
if (!browser) process.exit(1)
const at = await BrowserPlace.start(browser)
const { files } = at.place

const policy = `permit (principal, action in [Action::"/filesystem/file/read", Action::"/filesystem/dir/list"], resource in Directory::"${files}");

permit (principal, action in [Action::"/filesystem/file/delete", Action::"/filesystem/file/write", Action::"/filesystem/dir/delete_recursive"], resource in Directory::"${files}")
when { context has cosigner && context.cosigner };`
const agent = await at.place.agent('release-bot', policy)
const reader = await at.place.agent(
  'docs-reader',
  'permit (principal, action == Action::"/filesystem/file/read", resource);',
)
mkdirSync(join(files, 'build'))
for (let i = 0; i < 240; i++) writeFileSync(join(files, 'build', `chunk-${i}.js`), 'x'.repeat(i * 100))
const config = join(files, 'deploy.toml')
const before =
  '[deploy]\nregion = "eu-west"\nreplicas = 2\ntimeout = "30s"\n\n[notify]\nchannel = "#releases"\n'
const after =
  '[deploy]\nregion = "eu-west"\nreplicas = 6\ntimeout = "120s"\n\n[notify]\nchannel = "#releases"\n'
writeFileSync(config, before)
writeFileSync(join(files, 'README.md'), 'hello\n')

// A day, hour by hour: the clock of the provider is ours.
for (let hour = 23; hour >= 0; hour--) {
  at.place.shift = -hour * 3_600_000
  const count = [0, 1, 0, 0, 2, 5, 3, 1, 0, 0, 4, 9][hour % 12]!
  for (let i = 0; i < count; i++) await send(reader, '/filesystem/file/delete', { path: config })
  await send(reader, '/filesystem/file/read', { path: join(files, 'README.md') })
}
at.place.shift = 0
const write = await send(
  agent,
  '/filesystem/file/write',
  { path: config, ...content(after) },
  { body: after },
)
await send(agent, '/filesystem/dir/delete_recursive', { path: join(files, 'build') })
await send(agent, '/filesystem/file/read', { path: join(files, 'README.md') })

const bare = await BrowserPlace.start(browser)
const nobody = await bare.person()
await nobody.open('/console/')
await nobody.page.locator('h1').waitFor()
await shoot(nobody, 'empty-sign-in', 1280, 'light')
await nobody.page.goto(bare.origin.replace('localhost', '127.0.0.1'))
await shoot(nobody, 'elsewhere', 1280, 'light')
await shoot(nobody, 'elsewhere', 320, 'dark')
await nobody.register('Ada’s laptop')
for (const name of ['', 'approvals', 'apps', 'policies', 'audit?kind=refused']) {
  await nobody.open(`/console/${name}`)
  await nobody.page.waitForTimeout(600)
  for (const [width, scheme] of [
    [320, 'dark'],
    [1280, 'light'],
  ] as const)
    await shoot(nobody, `empty-${name.split('?', 1)[0] || 'start'}`, width, scheme)
}
await bare.place.serving.stop()
await nobody.page.waitForTimeout(2000)
await shoot(nobody, 'gone', 1280, 'dark')
await nobody.click('Sign out')
await nobody.page.getByText('You are signed out in this browser').waitFor()
for (const [width, scheme] of [
  [320, 'dark'],
  [1280, 'light'],
] as const)
  await shoot(nobody, 'gone-signed-out', width, scheme)

const first = await at.person()
await first.page.goto(await at.admin.addPasskey(at.origin))
await first.page.getByLabel('Name it').waitFor()
await shoot(first, 'link', 1280, 'light')
await first.register('Ada’s laptop')
const tree = (await at.admin.approvals()).find(({ command }) => command.endsWith('recursive'))!
const pages: [string, string, (() => Promise<unknown>)?][] = [
  ['start', '/console/'],
  ['approvals', '/console/approvals'],
  ['approval', String(write.error['url'])],
  ['approval-tree', `/approvals/${tree.id}`],
  ['apps', '/console/apps'],
  [
    'policies',
    '/console/policies',
    async () => {
      await first.page.getByLabel('What').selectOption('/filesystem/file/delete')
      await first.page.getByLabel('Who').selectOption('release-bot')
      await first.page.getByLabel('Where').fill(config)
      await first.click('Decide')
      await first.page.getByText('A person must approve it').waitFor()
    },
  ],
  [
    'audit',
    '/console/audit',
    async () => {
      await first.click('Verify')
      await first.page.getByText('The trail is whole').waitFor()
    },
  ],
]
for (const [name, path, act] of pages) {
  await first.open(path)
  await first.page.locator('h1').waitFor()
  await first.page.waitForTimeout(600)
  await act?.()
  for (const width of [320, 1280, 3840])
    for (const scheme of ['light', 'dark'] as const)
      if (width !== 3840 || scheme === 'dark') await shoot(first, name, width, scheme)
}
await first.page.emulateMedia({ forcedColors: 'active' })
for (const [name, path] of [
  ['start', '/console/'],
  ['apps', '/console/apps'],
] as const) {
  await first.open(path)
  await first.page.waitForTimeout(600)
  for (const scheme of ['light', 'dark'] as const) await shoot(first, `forced-${name}`, 1280, scheme)
}
await first.page.emulateMedia({ forcedColors: 'none' })
await first.click('Sign out')
await first.page.getByRole('button', { name: 'Sign in' }).waitFor()
await shoot(first, 'sign-in', 1280, 'dark')
await browser.close()
await at.close()

async function shoot(
  person: Person,
  name: string,
  width: number,
  colorScheme: 'light' | 'dark',
): Promise<void> {
  await person.page.setViewportSize({ width, height: width === 320 ? 640 : width === 3840 ? 2160 : 860 })
  await person.page.emulateMedia({ colorScheme })
  await person.page.screenshot({
    fullPage: width === 320 && !name.startsWith('approval'), // there the buttons stay in sight
    path: join(out, `${name}-${width}-${colorScheme}.png`),
  })
}
