import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { ASK_ENGINES, Engine, ENGINE_PATH } from '../packages/sandbox/test/engine.ts'
import { PEOPLE, Place } from './harness/place.ts'

const isRoot = process.getuid?.() === 0

const made: string[] = []
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true })
})

/** Issue 4: unix sockets of the host. Real ones, where docker's are, that the same person can use outside. */
describe.each(PEOPLE)('a container engine of the host, for a command of $name', (person) => {
  const place = new Place(person)
  const who = person.uid === undefined ? {} : { uid: person.uid, gid: person.gid! }
  /** Where the person's session has its sockets; root can make the real place for the one that root plays. */
  const runtime = isRoot && person.uid !== undefined ? `/run/user/${person.uid}` : join(place.dir, 'runtime')

  function listening(path: string): Promise<Engine> {
    const above = dirname(path)
    if (!existsSync(above)) {
      mkdirSync(above, { recursive: true })
      place.give(above)
      made.push(above)
    }
    made.push(path)
    return new Engine(path).listen()
  }

  async function listeningOutside(): Promise<readonly Engine[]> {
    const places = [join(runtime, 'docker.sock'), join(place.home, '.docker/run/docker.sock')]
    if (isRoot && !existsSync(ENGINE_PATH)) places.push(ENGINE_PATH)
    else console.warn(`skipped: ${ENGINE_PATH} is there already, or not ours to make`)
    return Promise.all(places.map(listening))
  }

  const ask = (paths: readonly string[]) => ['/usr/bin/python3', '-c', ASK_ENGINES, ...paths] as const

  test('is neither seen nor reached: rootless, in the home, of the machine, or by a descriptor left open', async () => {
    const outside = await listeningOutside()
    const inWorkspace = await listening(join(place.root, 'docker.sock'))
    const link = join(place.root, 'link.sock')
    symlinkSync(ENGINE_PATH, link)
    const dir = openSync(runtime, 'r')
    onTestFinished(() => closeSync(dir))
    const kept = await outside[0]!.keepOne()
    const options = {
      cwd: place.root,
      env: place.env({ XDG_RUNTIME_DIR: runtime, DOCKER_HOST: `unix://${runtime}/docker.sock` }),
      stdio: ['ignore', 'pipe', 'inherit', kept, dir, 'ignore', 'ignore', kept, dir],
    } satisfies Parameters<Place['start']>[1]
    const paths = [...outside.map((engine) => engine.path), `/var${ENGINE_PATH}`, link]
    // With a network Node stays beside the command; otherwise the launcher takes its place.
    for (const flags of [[], ['--allow-net', 'example.com']]) {
      const granted = ['--env', 'XDG_RUNTIME_DIR', '--env', 'DOCKER_HOST', ...flags]
      const child = place.start(['-q', ...granted, '--', ...ask([...paths, inWorkspace.path])], options)
      const [said] = await Promise.all([text(child.stdout!), once(child, 'close')])
      const [inherited, ...answers] = said.trim().split('\n')
      expect(inherited).toBe('inherited []')
      expect(answers).toHaveLength((paths.length + 1) * 8)
      // The one in the workspace is a file like others there, and no way out.
      expect(answers.filter((line) => !/ E(?:NOENT|ACCES|AFNOSUPPORT)$/.test(line))).toEqual([
        `${inWorkspace.path} seen`,
        `/proc/self/root${inWorkspace.path} seen`,
        'docker.sock seen',
      ])
    }
    expect([...outside, inWorkspace].flatMap((engine) => engine.asked)).toEqual([])

    const [python, ...args] = ask(outside.map((engine) => engine.path))
    const child = spawn(python, args, { ...options, ...who })
    const [said] = await Promise.all([text(child.stdout!), once(child, 'close')])
    expect(said.split('\n').filter((line) => /^(?:dir-)?fd 200$/.test(line))).toEqual([
      'fd 200',
      'dir-fd 200',
      'dir-fd 200',
    ])
    expect(outside.map((engine) => engine.asked.includes('/_ping?path'))).toEqual(outside.map(() => true))
  })
})
