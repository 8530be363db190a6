import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { CanonicalPath } from '@cordon/policy'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  type ConsentTool,
  consentTo,
  type Decider,
  type Look,
  type Verdict,
} from '../../src/agent/consent.ts'
import { openAmbientFilesNow } from '../../src/execute/files-now.ts'
import { foresee } from '../../src/agent/foresee.ts'
import { placesOf, shownPaths } from '../../src/execute/shown-paths.ts'
import { showCall } from '../../src/agent/shown.ts'

let root: CanonicalPath
const write = (name: string, text: string): void => {
  mkdirSync(dirname(join(root, name)), { recursive: true })
  writeFileSync(join(root, name), text)
}
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-consent-'))) as CanonicalPath
  onTestFinished(() => rmSync(root, { recursive: true }))
  write('docs/x', 'title\n')
  write('src/x', 'title\n')
})

/** A shipped tool of this workspace, and how often its files were looked for. */
function toolOf(name: string, run: 'ask' | 'edit' | 'unattended' = 'ask') {
  const looked: string[] = []
  const tool: ConsentTool = {
    name,
    source: 'local',
    config: { run, runIsWritten: true, result: 'unattended', timeout_secs: 1, max_output_bytes: 1 },
    isAllowed: false,
    secretIn: () => undefined,
    pathsIn: () => undefined,
    filesNow: () => {
      const files = openAmbientFilesNow(root, [])
      return (path, as) => {
        looked.push(path)
        return files(path, as)
      }
    },
    foresee: (args, files) =>
      foresee({ name, shipped: true, parameters: {} }, args, {
        root,
        policy: { fs: [], net: [], env: [], commands: {} },
        files,
      }),
    shownPaths: (args, files) => shownPaths(name, args, files),
    placesOf: (args, files, what) => placesOf(name, args, files, what),
    secretAmong: (paths) =>
      paths.some(({ place }) => place === 'src/x') ? 'src/x may be secret' : undefined,
  }
  return { tool, looked }
}

/** One answer after the other, each with what happens while the question stands. */
function personWho(...answers: readonly [verdict: Verdict['kind'], meanwhile?: () => void][]) {
  const asked: unknown[] = []
  const decider: Decider = {
    decides: (call, problem) => {
      asked.push([call.changes.map(({ path }) => path).join(), problem])
      const [kind, meanwhile] = answers[asked.length - 1]!
      meanwhile?.()
      return Promise.resolve({ kind })
    },
    edits: (_, text) => {
      renameSync(join(root, 'docs'), join(root, 'd'))
      symlinkSync('src', join(root, 'docs'))
      return Promise.resolve({ kind: 'text', text: text.replace('evil', 'mine') })
    },
    handsOver: () => Promise.resolve(true),
  }
  return { decider, asked }
}

const show = (tool: string) => (look: Look) =>
  Promise.resolve(
    showCall(tool, look.arguments, {
      ...look,
      paths: look.paths ?? [],
      isOurs: true,
      replaces: look.foreseen.replaces,
    }),
  )

const CREATE = { path: 'docs/x', content: 'evil\n' }

describe('decision 0408: a yes is to what was shown', () => {
  test('the tool is told what that was, and what it replaces', async () => {
    const { tool } = toolOf('fs_create_file')
    const { decider, asked } = personWho(['run'])
    expect(await consentTo(tool, CREATE, show(tool.name), decider)).toMatchObject({
      kind: 'run',
      arguments: { ...CREATE, overwrite: true },
      shown: [{ path: 'docs/x', place: 'docs/x', was: { kind: 'file', sha256: expect.any(String) } }],
    })
    expect(asked).toEqual([['docs/x', undefined]])
  })

  test('what changed meanwhile is shown and asked about, again and again', async () => {
    const { tool } = toolOf('fs_create_file')
    const { decider, asked } = personWho(
      ['run', () => write('docs/x', 'theirs')],
      ['always', () => rmSync(join(root, 'docs/x'))],
      ['run', () => symlinkSync('../src/x', join(root, 'docs/x'))],
      ['run'],
    )
    expect(await consentTo(tool, CREATE, show(tool.name), decider)).toMatchObject({
      kind: 'run',
      always: false,
      shown: [{ path: 'docs/x', place: 'src/x' }],
    })
    expect(asked).toEqual([
      ['docs/x', undefined],
      ['docs/x', 'docs/x was changed after it was shown'],
      ['docs/x', 'docs/x is gone after it was shown'],
      ['src/x', 'docs/x leads to src/x now'],
    ])
  })

  test.each(['ask', 'edit'] as const)('also after an edit (%s)', async (mode) => {
    const { tool } = toolOf('fs_create_file', mode)
    const { decider, asked } = mode === 'ask' ? personWho(['edit'], ['refuse']) : personWho(['refuse'])
    expect(await consentTo(tool, CREATE, show(tool.name), decider)).toMatchObject({ kind: 'refused' })
    expect(asked.at(-1)).toEqual(['src/x', 'docs/x leads to src/x now'])
  })

  test('what nobody is asked about is not looked at for it', async () => {
    const { tool, looked } = toolOf('fs_create_file', 'unattended')
    expect(await consentTo(tool, CREATE, show(tool.name), undefined)).toMatchObject({
      kind: 'run',
      shown: undefined,
    })
    expect(looked).toEqual([])
  })

  test('what is shown, and what the tool is held to, is of one look', async () => {
    const files = openAmbientFilesNow(root, [])
    const before = shownPaths('fs_delete_file', { path: 'docs/x' }, files)
    write('docs/x', 'flipped\n')
    const options = { isOurs: true, files, paths: before }
    expect(showCall('fs_delete_file', { path: 'docs/x' }, options).changes).toEqual([
      { path: 'docs/x', lines: ['(6 bytes)', '-title'] },
    ])
    expect(shownPaths('fs_delete_file', { path: './docs/x' }, files)[0]?.was).toEqual(before[0]?.was)
  })
})

test('what is allowed without a question is held to the place it was allowed for', async () => {
  const { tool } = toolOf('fs_create_file')
  const args = { path: 'docs/x', content: 'evil' }
  const allowed = { ...tool, isAllowed: true }
  expect(await consentTo(allowed, args, show('fs_create_file'), undefined)).toMatchObject({
    kind: 'run',
    shown: [{ path: 'docs/x', place: 'docs/x', was: 'any' }],
  })
  rmSync(join(root, 'docs/x'))
  symlinkSync('../src/x', join(root, 'docs/x'))
  // By its written name nothing is secret: what counts is where it was found.
  expect(await consentTo(allowed, args, show('fs_create_file'), undefined)).toMatchObject({
    kind: 'refused',
    text: expect.stringContaining('src/x may be secret'),
  })
  const ruled = { ...tool, config: { ...tool.config, run: [{ path: 'docs', mode: 'unattended' }] as const } }
  const pathsIn = () => [['docs/x']]
  expect(
    await consentTo(
      { ...ruled, pathsIn, secretAmong: () => undefined },
      args,
      show('fs_create_file'),
      undefined,
    ),
  ).toMatchObject({ kind: 'refused' })
})

test('nobody is asked about a move onto a link or a directory, which no yes would replace (decision 0366)', async () => {
  symlinkSync('docs/x', join(root, 'link'))
  const { tool } = toolOf('fs_move_file')
  const { decider, asked } = personWho()
  for (const to of ['link', 'src'])
    expect(await consentTo(tool, { from: 'docs/x', to }, show('fs_move_file'), decider)).toMatchObject({
      kind: 'refused',
      text: expect.stringMatching(/^(link is a link|src is a directory), and only a file is replaced/),
    })
  expect(asked).toEqual([])
})

test('what is written all the time is asked about a few times, and then given up', async () => {
  const { tool } = toolOf('fs_create_file')
  let times = 0
  const rewrite = (): void => write('docs/x', `${times++}\n`)
  const { decider, asked } = personWho(
    ['run', rewrite],
    ['always', rewrite],
    ['run', rewrite],
    ['run', rewrite],
  )
  const consent = consentTo(tool, { path: 'docs/x', content: 'mine' }, show('fs_create_file'), decider)
  expect(await consent).toEqual({
    kind: 'refused',
    outcome: 'error',
    text: 'tool fs_create_file: not run, because something else changes it all the time: docs/x was changed after it was shown',
  })
  expect(asked).toHaveLength(4)
})
