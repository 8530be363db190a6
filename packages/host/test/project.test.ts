import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { requireWorkspace } from '../src/project.ts'

/** What the kernel says of where we are has no links: one on that way was put there after it was asked. */
test.for(['marked', 'unmarked'])(
  'SPEC 2.1 the attack: a directory that becomes a link while a command starts is not followed, %s',
  (kind) => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-project-')))
    onTestFinished(() => rmSync(base, { recursive: true, force: true }))
    for (const dir of ['home', 'elsewhere', 'w', ...(kind === 'marked' ? ['elsewhere/.cordon'] : [])])
      mkdirSync(join(base, dir))
    const cwd = join(base, 'w')
    const surroundings = {
      env: {},
      platform: 'linux',
      home: join(base, 'home'),
      uid: process.getuid?.(),
    } as const
    const open = (): unknown => requireWorkspace({ cwd, surroundings, unmarked: 'allow' })
    expect(open()).toMatchObject({ root: cwd })
    rmSync(cwd, { recursive: true })
    symlinkSync('elsewhere', cwd)
    expect(open).toThrow(`${cwd} leads elsewhere by now\n  fix: start again, and see who changes it`)
  },
)
