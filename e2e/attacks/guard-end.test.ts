import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'
import { Repository } from '../harness/repository.ts'
import { until } from '../harness/waiting.ts'

/** A repository whose files lie in the directory itself, and whose configuration runs a program. */
const BARE = `git init -q --bare /tmp/b && cp -r /tmp/b/HEAD /tmp/b/objects /tmp/b/refs .
  printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = ./evil\\n' > config
  printf '#!/bin/sh\\ntouch ran\\n' > evil; chmod +x evil`

const ALLOWED = 'read = true, write = true, execute = true'

describe.each(PEOPLE)('SPEC 4.10 when everything inside has ended, as $name', (person) => {
  test('a directory that became a repository by itself is none for the host', () => {
    const place = new Repository(person)
    const { stderr } = place.sh(`rm .git/HEAD; ${BARE}`)
    expect(stderr).toBe(
      'cordon: the command ended with 0\n' +
        `  moved aside: ${place.real}/HEAD was made while the command ran, although a rule denies it; it is now ${place.real}/HEAD.denied-by-cordon-1: look at it, then it may be removed\n`,
    )
    expect(() => place.git('status')).toThrow()
    expect(place.has('ran')).toBe(false)
  })

  test('also where there was none, and in each directory down to the current one', () => {
    const place = new Repository(person)
    place.init()
    rmSync(join(place.root, '.git'), { recursive: true })
    place.mkdir(join(place.root, 'x'))
    const cwd = place.mkdir(join(place.root, 'x/y'))
    for (const dir of ['', 'x', 'x/y']) {
      place.run(['--quiet', '--', 'sh', '-c', `cd ${place.real}/${dir}; ${BARE}`], { cwd })
      expect(() => place.git('status', cwd)).toThrow()
      expect(readdirSync(join(place.root, dir))).toContain('HEAD.denied-by-cordon-1')
    }
    expect(['ran', 'x/ran', 'x/y/ran'].filter((name) => place.has(name))).toEqual([])
  })

  test('nor does the current directory, or one above it, become one under another name, into which the shell follows', () => {
    const place = new Repository(person)
    place.init()
    rmSync(join(place.root, '.git'), { recursive: true })
    place.mkdir(join(place.root, 'x'))
    const cwd = place.mkdir(join(place.root, 'x/y'))
    for (const move of [
      'cd ../..; mv x z && cd z/y',
      'cd ..; mv y z && cd z',
      'cd ../..; mv x/y z && cd z',
    ]) {
      const { stderr } = place.run(['--quiet', '--', 'sh', '-c', `${move} && ${BARE}`], { cwd })
      expect(stderr).toContain('Device or resource busy')
      expect(readdirSync(cwd)).toEqual([])
    }
    // A tool starts in the root, wherever the person stands.
    place.config(
      '[conversation.tools.mover]\nsource = "local"\ncommand = ["sh", "-c", "mv x z && echo moved || echo kept"]\n',
    )
    expect(place.cordon(['tool', 'run', 'mover'], { cwd }).stdout).toContain('kept')
    place.run(['--quiet', '--', 'sh', '-c', 'mkdir d; mv d e; touch e/f; mv e/f ../f'], { cwd })
    expect([place.has('x/y/e'), place.has('x/f')]).toEqual([true, true])
  })

  test('one that was there is guarded as every other', () => {
    const place = new Repository(person)
    place.git('init -q --bare .')
    place.sh("rm .git/HEAD; printf '[core]\\n\\tfsmonitor = ./evil\\n' >> config; echo x > hooks/pre-commit")
    expect(place.read('config')).not.toContain('evil')
    expect(place.has('hooks/pre-commit')).toBe(false)
  })

  test('a mode of the directory around it keeps nothing where it is, and stays', () => {
    const place = new Repository(person)
    for (const mode of [0o555, 0o000, 0o311]) {
      const made = place.sh(`echo ../evil > .git/commondir; chmod ${mode.toString(8)} .git`)
      expect(made.stderr).toContain(`  moved aside: ${place.real}/.git/commondir was made`)
      expect(place.has('.git/commondir')).toBe(false)
      expect(statSync(join(place.root, '.git')).mode & 0o777).toBe(mode)
      chmodSync(join(place.root, '.git'), 0o755)
    }
    place.config(`[profiles.p.access]\nfs = [{ path = ".", ${ALLOWED} }, { path = "d/e/.env" }]\n`)
    for (const dir of ['.', 'd', 'd/e']) {
      const script = `mkdir -p d/e; echo evil > d/e/.env; chmod 0 ${dir}`
      expect(place.run(['--quiet', '--profile', 'p', '--', 'sh', '-c', script]).stderr).toBe('')
      for (const each of ['.', 'd', 'd/e']) chmodSync(join(place.root, each), 0o755)
      expect(place.has('d/e/.env')).toBe(false)
    }
  })

  test('after kill -9 it is found, also when the command wrote an id for the directory', async () => {
    const place = new Repository(person)
    rmSync(join(place.root, '.cordon'), { recursive: true })
    const script =
      'mkdir .cordon; echo zzzzzz > .cordon/id; echo ../evil > .git/commondir; touch ready; sleep 60'
    const child = place.start(['--', 'sh', '-c', script])
    await until(() => place.has('ready'))
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(place.has('.git/commondir')).toBe(true)
    expect(place.run(['--', 'true']).stderr).toBe(
      `warning: ${place.real}/.git/commondir was made while a command ran that was killed or could not move it, although a rule denies it; it is now ${place.real}/.git/commondir.denied-by-cordon-1: look at it, then it may be removed\n`,
    )
    expect(place.has('.git/commondir')).toBe(false)
  })

  test('a guarded file that the host replaced meanwhile is told', async () => {
    const place = new Repository(person)
    const running = place.runMeanwhile([
      '--',
      'sh',
      '-c',
      'touch ready; until [ -e go ]; do sleep 0.02; done; echo "# evil" >> .git/config 2>/dev/null; true',
    ])
    await until(() => place.has('ready'))
    place.git('config branch.main.remote origin')
    place.write('go', '')
    expect((await running).stderr).toBe(
      'cordon: the command ended with 0\n' +
        `  changed: ${place.real}/.git/config was changed while the command ran: look at it, the host obeys or runs it by itself later\n`,
    )
    expect(place.sh('true').stderr).toBe('')
  })

  test('a guarded directory that the host replaced meanwhile is told, one that it removed is not', async () => {
    const place = new Repository(person)
    place.shell(
      'mkdir .husky .vscode; echo fine > .husky/pre-commit; git add -A; git commit -q -m h; git branch feat; git rm -rq .husky; git commit -q -m away; git checkout -q feat',
      [],
    )
    const running = place.runMeanwhile([
      '--',
      'sh',
      '-c',
      'touch ready; until [ -e go ]; do sleep 0.02; done; echo evil >> .husky/pre-commit 2>/dev/null; true',
    ])
    await until(() => place.has('ready'))
    place.shell('git checkout -q -; git checkout -q feat; rmdir .vscode', [])
    place.write('go', '')
    expect((await running).stderr).toBe(
      'cordon: the command ended with 0\n' +
        `  changed: ${place.real}/.husky was changed while the command ran: look at it, the host obeys or runs it by itself later\n`,
    )
  })
})

test.each(PEOPLE.filter(({ uid }) => uid !== undefined))(
  'SPEC 4.3 what cannot be moved is said, also with --quiet, and the next command tries again, as $name',
  async (person) => {
    const place = new Place(person)
    const dir = place.mkdir(join(place.root, 'd'))
    place.config(`[profiles.p.access]\nfs = [{ path = ".", ${ALLOWED} }, { path = "d/.env" }]\n`)
    const script = 'echo evil > d/.env; touch ready; until [ -e go ]; do sleep 0.02; done'
    const running = place.runMeanwhile(['--quiet', '--profile', 'p', '--', 'sh', '-c', script])
    await until(() => existsSync(join(place.root, 'ready')))
    chownSync(dir, 0, 0)
    place.write('go', '')
    const env = join(realpathSync(dir), '.env')
    expect((await running).stderr).toBe(
      'cordon: the command ended with 0\n' +
        `  still there: ${env} was made while the command ran, although a rule denies it, and cannot be moved aside: EACCES\n`,
    )
    const again = `warning: ${env} was made while a command ran that was killed or could not move it, although a rule denies it`
    for (let i = 0; i < 2; i++)
      expect(place.run(['--quiet', '--', 'true']).stderr).toBe(
        `${again}, and cannot be moved aside: EACCES\n`,
      )
    place.give(dir)
    expect(place.run(['--quiet', '--', 'true']).stderr).toBe(
      `${again}; it is now ${env}.denied-by-cordon-1: look at it, then it may be removed\n`,
    )
    expect(place.run(['--', 'true']).stderr).toBe('')
  },
)
