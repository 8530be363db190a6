import { hash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { FileError, openAmbientAnchor } from '@cordon/files'
import { type CanonicalPath, parseRelPath } from '@cordon/policy'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type Command } from '../src/commands.ts'
import { Refusal } from '../src/errors.ts'
import { OPERATIONS, runOperation } from '../src/operations/index.ts'
import { type Answer, HalfDone, type Work } from '../src/operations/operation.ts'
import { surveyWork } from '../src/step-up/survey.ts'
import { Deadline } from '../src/pipeline/deadline.ts'
import { asRefusal, type Place, Places, statOf } from '../src/pipeline/places.ts'
import { parsePrefix } from '../src/tokens/prefix.ts'

/** In memory where there is such a place: another filesystem than the temporary directory's. */
function fastPlace(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return statSync('/dev/shm').dev === statSync(tmpdir()).dev ? tmpdir() : '/dev/shm'
  } catch {
    return tmpdir()
  }
}

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-operations-')))
const own = join(dir, 'own')
const files = parsePrefix(join(dir, 'files'))
for (const each of [own, files]) mkdirSync(each)
const places = new Places(own)
afterAll(() => places.close())

const at = (name: string): string => join(files, name)
const put = (name: string, text: string): string => {
  writeFileSync(at(name), text)
  return at(name)
}

/** As the pipeline makes it, from where things are now; what happens before it is run is the test's. */
function workFor(command: Command, args: Record<string, string>, cosigned: boolean): Work<Command> {
  const visit = places.visit()
  const { path = '', destination, content = '' } = args
  return {
    args: {
      ...args,
      ...(destination === undefined ? {} : { overwrite: true }),
      sha256: hash('sha256', content),
      size: content.length,
      edits: [{ old: 'old', new: 'new' }],
    } as never,
    place: visit.find(files, path, OPERATIONS[command].meaning),
    destination: destination === undefined ? undefined : visit.find(files, destination, 'object'),
    deadline: new Deadline(),
    body: (async function* () {
      yield Buffer.from(content)
    })(),
    may: () => true,
    cosigned,
  }
}

const run = async (command: Command, work: Work<Command>): Promise<Answer> => {
  try {
    return (await runOperation(command, work)).answer
  } catch (error) {
    throw asRefusal(error, work.place.path)
  }
}

describe('SPEC 7.5 what is done is what a person signed for, not what came since', () => {
  test.each([
    ['/filesystem/file/read', { path: 'a' }, 'a'],
    ['/filesystem/file/write', { path: 'a', content: 'signed' }, 'a'],
    ['/filesystem/file/write', { path: 'missing', content: 'signed' }, 'missing'],
    ['/filesystem/file/edit', { path: 'a' }, 'a'],
    ['/filesystem/file/delete', { path: 'a' }, 'a'],
    ['/filesystem/file/move', { path: 'a', destination: 'b' }, 'a'],
    ['/filesystem/file/move', { path: 'a', destination: 'b' }, 'b'],
    ['/filesystem/file/copy', { path: 'a', destination: 'b' }, 'a'],
    ['/filesystem/file/copy', { path: 'a', destination: 'b' }, 'b'],
    ['/filesystem/dir/delete_recursive', { path: 'tree' }, 'tree/added'],
  ] as const)('%s %o, and %s is swapped meanwhile', async (command, args, swapped) => {
    put('a', 'an old text')
    put('b', 'another')
    mkdirSync(at('tree'), { recursive: true })
    const paths = Object.entries(args).map(([key, name]) => [key, key === 'content' ? name : at(name)])
    const work = workFor(command, Object.fromEntries(paths) as Record<string, string>, true)
    const { work: surveyed, content } = await surveyWork(command, work)
    put(swapped, 'an old text that nobody signed for')
    await expect(run(command, { ...surveyed, signedFor: content })).rejects.toMatchObject({
      code: swapped === 'missing' ? 'already_exists' : 'changed',
    })
    expect(readFileSync(at(swapped), 'utf8')).toBe('an old text that nobody signed for')
  })
})

describe('SPEC 7.5 what a person is shown is what is signed for', () => {
  test.each(['/filesystem/file/write', '/filesystem/file/delete', '/filesystem/file/read'] as const)(
    '%s: nobody is asked about a file that was put in place of the one that was found',
    async (command) => {
      const path = put('shown', 'precious')
      const work = workFor(command, { path, content: 'precious' }, true)
      renameSync(path, at('aside'))
      put('shown', 'a decoy!')
      await expect(surveyWork(command, work)).rejects.toMatchObject({ code: 'changed' })
    },
  )

  test('the agent sends the body when it has put a decoy in place: no diff of the decoy is shown', async () => {
    const path = put('deploy.sh', 'precious')
    put('decoy', 'evil')
    const work = workFor('/filesystem/file/write', { path, content: 'evil' }, true)
    const body = (async function* (): AsyncGenerator<Uint8Array> {
      renameSync(path, at('aside'))
      renameSync(at('decoy'), path)
      yield Buffer.from('evil')
    })()
    await expect(surveyWork('/filesystem/file/write', { ...work, body })).rejects.toMatchObject({
      code: 'changed',
    })
  })
})

test.each([
  ['timed_out', 504],
  ['client_gone', 499],
] as const)('SPEC 7.3 a recursive delete that is stopped half-way says by what: %s', async (code, status) => {
  mkdirSync(at('many'), { recursive: true })
  for (let i = 0; i < 700; i++) put(`many/${i}`, 'x')
  const work = workFor('/filesystem/dir/delete_recursive', { path: at('many') }, false)
  const stopOnceBegun = (): void => {
    if (readdirSync(at('many')).length === 700) return void setImmediate(stopOnceBegun)
    work.deadline.abort(new Refusal(code, 'it was stopped'))
  }
  setImmediate(stopOnceBegun)
  const error = await run('/filesystem/dir/delete_recursive', work).catch((thrown: unknown) => thrown)
  const left = readdirSync(at('many')).length
  expect(left).toBeGreaterThan(0)
  expect(error).toBeInstanceOf(HalfDone)
  expect(error).toMatchObject({
    code,
    status,
    message: `${700 - left} of 701 entries are gone: it was stopped`,
    detail: { half_done: { entries: left + 1 } },
  })
  rmSync(at('many'), { recursive: true })
})

describe('SPEC 7.2 a recursive delete takes what it looked at, and nothing else', () => {
  /** The tree has two directories; `comes` is called when the first of them was listed, and told which that was. */
  async function removeWhile(comes: (walked: string) => void): Promise<unknown> {
    for (const each of ['one', 'two']) {
      mkdirSync(at(`racy/${each}`), { recursive: true })
      put(`racy/${each}/f`, 'x')
    }
    const work = workFor('/filesystem/dir/delete_recursive', { path: at('racy') }, false)
    const walked: string[] = []
    const may: typeof work.may = (_, { path }) => {
      if (path.endsWith('/f') && walked.push(dirname(path)) === 2) comes(walked[0]!)
      return true
    }
    return run('/filesystem/dir/delete_recursive', { ...work, may }).catch((error: unknown) => error)
  }

  test('a file that is moved in after its directory was looked at stays, and so does the directory', async () => {
    let came = ''
    const ended = await removeWhile((walked) => {
      came = join(walked, 'zz')
      writeFileSync(came, 'important')
    })
    expect(ended).toMatchObject({ code: 'changed' })
    expect(readFileSync(came, 'utf8')).toBe('important')
    rmSync(at('racy'), { recursive: true })
  })

  test('nor does one go that was put in the place of another', async () => {
    let came = ''
    const ended = await removeWhile((walked) => {
      came = join(walked, 'f')
      writeFileSync(`${came}.new`, 'important')
      renameSync(`${came}.new`, came)
    })
    expect(ended).toMatchObject({ code: 'changed' })
    expect(readFileSync(came, 'utf8')).toBe('important')
    rmSync(at('racy'), { recursive: true })
  })

  test('nor a directory, with what is in it', async () => {
    let came = ''
    const ended = await removeWhile((walked) => {
      came = join(walked, 'zz', 'important')
      mkdirSync(dirname(came))
      writeFileSync(came, 'important')
    })
    expect(ended).toMatchObject({ code: 'changed' })
    expect(readFileSync(came, 'utf8')).toBe('important')
    rmSync(at('racy'), { recursive: true })
  })
})

/** Two filesystems below one anchor: this machine's own root, with a place in memory. */
const memory = fastPlace() === tmpdir() ? undefined : mkdtempSync(join(fastPlace(), 'cordon-operations-'))

describe.skipIf(memory === undefined)('SPEC 7.2 a move to another filesystem', () => {
  const root = openAmbientAnchor('/' as CanonicalPath)
  afterAll(() => {
    root.close()
    rmSync(memory!, { recursive: true })
  })
  const placeAt = (path: string): Place => {
    const inside = parseRelPath(path.slice(1))
    return { path, anchor: root, inside, stat: statOf(root, inside) }
  }

  /** `meanwhile` happens once the copy is durable and has its name. */
  function moveOut(meanwhile: (source: string) => void): {
    run: Promise<Answer>
    source: string
    to: string
  } {
    const [source, to] = [join(memory!, 'a'), at('carried')]
    rmSync(to, { force: true })
    writeFileSync(source, 'carried')
    const copy = vi.spyOn(root, 'copy').mockImplementation(async (...args) => {
      copy.mockRestore()
      const copied = await root.copy(...args)
      meanwhile(source)
      return copied
    })
    const work = {
      ...workFor('/filesystem/file/move', { path: at('.'), destination: to }, false),
      place: placeAt(source),
      destination: placeAt(to),
    }
    return { run: run('/filesystem/file/move', work), source, to }
  }

  test('the source goes once its copy is there', async () => {
    const { run: moving, source, to } = moveOut(() => undefined)
    expect(await moving).toEqual({ kind: 'json', value: { moved: source, to } })
    expect([existsSync(source), readFileSync(to, 'utf8')]).toEqual([false, 'carried'])
  })

  test('what has the source’s name by then stays, and both are told', async () => {
    const {
      run: moving,
      source,
      to,
    } = moveOut((path) => {
      writeFileSync(`${path}.new`, 'important')
      renameSync(`${path}.new`, path)
    })
    const half = await moving.catch((error: unknown) => error)
    expect(half).toBeInstanceOf(HalfDone)
    expect(half).toMatchObject({
      code: 'changed',
      message: `it was copied to ${to}, and ${source} was changed meanwhile: what is there now stays`,
      detail: { half_done: { bytes: 7 } },
      before: { sha256: hash('sha256', 'carried'), bytes: 7 },
      after: { sha256: hash('sha256', 'carried'), bytes: 7 },
    })
    expect([readFileSync(source, 'utf8'), readFileSync(to, 'utf8')]).toEqual(['important', 'carried'])
  })

  test('so does what was written into it', async () => {
    const { run: moving, source } = moveOut((path) => writeFileSync(path, 'important'))
    await expect(moving).rejects.toMatchObject({ code: 'changed' })
    expect(readFileSync(source, 'utf8')).toBe('important')
  })

  test('a source that is somewhere else by then is not said to be there', async () => {
    const { run: moving, source, to } = moveOut((path) => renameSync(path, `${path}.aside`))
    await expect(moving).rejects.toMatchObject({
      code: 'changed',
      message: `it was copied to ${to}, and ${source} is not there any more: somebody else moved or removed it meanwhile`,
    })
    expect(readFileSync(`${source}.aside`, 'utf8')).toBe('carried')
  })
})

describe('SPEC 7.3 the time of a copy', () => {
  test('grows with its size, as that of a transfer does', async () => {
    const [path, destination] = [put('large', ''), at('large-copy')]
    truncateSync(path, 64 * 1024 ** 2)
    const work = workFor('/filesystem/file/copy', { path, destination }, false)
    await run('/filesystem/file/copy', { ...work, deadline: new Deadline(10) })
    expect(statSync(destination).size).toBe(64 * 1024 ** 2)
  })
})

test.each(['move', 'copy'] as const)(
  'a %s whose source vanished meanwhile says so, and not that a directory is missing',
  async (verb) => {
    const [path, destination] = [put('vanishing', 'x'), at('never-made')]
    const work = workFor(`/filesystem/file/${verb}`, { path, destination }, false)
    rmSync(path)
    await expect(run(`/filesystem/file/${verb}`, work)).rejects.toMatchObject({
      code: 'not_found',
      message: `cannot ${verb} ${path}: it is not there any more`,
      detail: { path },
    })
    expect(existsSync(destination)).toBe(false)
  },
)

describe('SPEC 7.2 a move takes what was found, and not what came while that was hashed', () => {
  /** `meanwhile` happens once it was hashed. */
  async function moveWhile(meanwhile: (path: string) => void): Promise<{ error: unknown; path: string }> {
    const path = put('found', 'found')
    const work = workFor('/filesystem/file/move', { path, destination: at('not-moved') }, false)
    const { anchor } = work.place
    const hashing = vi.spyOn(anchor, 'hash').mockImplementation(async (...args) => {
      hashing.mockRestore()
      const hashed = await anchor.hash(...args)
      renameSync(path, at('found-aside'))
      meanwhile(path)
      return hashed
    })
    const error = await run('/filesystem/file/move', work).catch((thrown: unknown) => thrown)
    expect(existsSync(at('not-moved'))).toBe(false)
    return { error, path }
  }
  const refused = (path: string): object => ({
    code: 'changed',
    message: `cannot move ${path}: it, or what it replaces, was changed meanwhile; nothing was moved`,
  })

  test('another file', async () => {
    const { error, path } = await moveWhile(() => put('found', 'other'))
    expect(error).toMatchObject(refused(path))
    expect(readFileSync(path, 'utf8')).toBe('other')
  })

  test('a directory', async () => {
    const { error, path } = await moveWhile((made) => {
      mkdirSync(made)
      put('found/inner', 'inner')
    })
    expect(error).toMatchObject(refused(path))
    expect(readFileSync(join(path, 'inner'), 'utf8')).toBe('inner')
    rmSync(path, { recursive: true })
  })
})

describe('SPEC 7.2 overwriting', () => {
  test.each(['/filesystem/file/move', '/filesystem/file/copy'] as const)(
    '%s: a file that was made since the decision is not replaced without one',
    async (command) => {
      const [path, destination] = [put('source', 'source'), at(`made-since-${command.slice(-4)}`)]
      const work = workFor(command, { path, destination }, false)
      writeFileSync(destination, 'precious')
      await expect(run(command, work)).rejects.toMatchObject({ code: 'already_exists' })
      expect([readFileSync(destination, 'utf8'), existsSync(path)]).toEqual(['precious', true])
    },
  )

  test('one that was there, and was written again, is', async () => {
    const [path, destination] = [put('source', 'source'), put('there', 'before')]
    const work = workFor('/filesystem/file/copy', { path, destination }, false)
    put('there', 'written again')
    await run('/filesystem/file/copy', work)
    expect(readFileSync(destination, 'utf8')).toBe('source')
  })
})

test('what half happened is told without the hash of what was copied, which is recorded', () => {
  const after = { sha256: hash('sha256', '4711'), bytes: 4 }
  const half = new HalfDone('failed', 'it was copied, and the source is still there', { after })
  expect([half.detail, half.after]).toEqual([{ half_done: { bytes: 4 } }, after])
})

test('SPEC 7.3 what is of the kernel is out of scope, wherever it is mounted', () => {
  const error = new FileError('FILE_NOT_ON_DISK', { operation: 'list', path: 'm' }, 'is of the kernel')
  expect(asRefusal(error, '/srv/ws/m')).toMatchObject({ code: 'resource_out_of_scope', status: 403 })
})

describe('SPEC 7.3 one app does not hold up the others', () => {
  test('a large directory is listed in pieces', async () => {
    mkdirSync(at('listed'))
    for (let i = 0; i < 3000; i++) put(`listed/${i}`, '')
    const work = workFor('/filesystem/dir/list', { path: at('listed') }, false)
    const turns = vi.spyOn(work.deadline, 'breathe')
    const answer = (await run('/filesystem/dir/list', work)) as { value: { entries: unknown[] } }
    expect([answer.value.entries.length, turns.mock.calls.length]).toEqual([3000, 6])
    rmSync(at('listed'), { recursive: true })
  })

  test('of many that take long, one has its piece in a turn', async () => {
    let pieces = 0
    const long = Array.from({ length: 8 }, async () => {
      const deadline = new Deadline()
      for (let i = 0; i < 20; i++) {
        await deadline.breathe()
        pieces++
      }
      deadline.done()
    })
    const inOneTurn: number[] = []
    for (let last = 0; last < 160; last = pieces) {
      await new Promise(setImmediate)
      inOneTurn.push(pieces - last)
    }
    await Promise.all(long)
    expect(Math.max(...inOneTurn)).toBeLessThanOrEqual(2)
  })

  test('of the diff of a large edit the first part is told, and that there is more', async () => {
    const path = put('edited', 'old\n'.repeat(90_000))
    const work = workFor('/filesystem/file/edit', { path }, false)
    const edits = [{ old: 'old', new: 'new', all: true }]
    const answer = await run('/filesystem/file/edit', {
      ...work,
      args: { path, edits, dry_run: true },
    })
    const { diff, truncated } = (answer as { value: { diff: string; truncated: boolean } }).value
    expect([truncated, diff.endsWith('\n-old\n')]).toEqual([true, true])
    expect(JSON.stringify(diff).length).toBeLessThan(2 ** 20)
  })
})
