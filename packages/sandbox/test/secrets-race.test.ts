import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type LauncherState, spawnConfined } from '@cordon/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  BASE_ENV,
  IDENTITIES,
  type Identity,
  makeWorld,
  planFor,
  removeWorlds,
  scratchDir,
  withSecretsIn,
  type World,
} from './confine.ts'

afterAll(removeWorlds)

/**
 * A launcher in which the directory changes at the worst moment: when it is known what is private, and nothing is covered yet.
 * CHANGES is how often: what was found is renamed, and for the first time something new is made, as useradd does both.
 */
const CHANGING = `
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static void change (void) {
  static int done;
  char from[4096], to[4096];
  if (done == CHANGES) return;
  snprintf (from, sizeof from, "%s/key%d", ETC, done);
  snprintf (to, sizeof to, "%s/key%d", ETC, ++done);
  if (rename (from, to)) _exit (99);
  if (done > 1) return;
  snprintf (to, sizeof to, "%s/new", ETC);
  int fd = open (to, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (write (fd, "SECRET", 6) != 6) _exit (99);
}
int __real_secrets_receive (int, char **, size_t *);
int __wrap_secrets_receive (int from, char **paths, size_t *size) {
  int err = __real_secrets_receive (from, paths, size);
  if (*size > 0 && strncmp (*paths, ETC, strlen (ETC)) == 0) change ();
  return err;
}
int __real_secrets_find (int, dev_t, const char *, char **, size_t *);
int __wrap_secrets_find (int root, dev_t ours, const char *dir, char **paths, size_t *size) {
  int err = __real_secrets_find (root, ours, dir, paths, size);
  change ();
  return err;
}
`
const WRAPPED = ['secrets_receive', 'secrets_find'].map((name) => `-Wl,--wrap=${name}`)
const SOURCES = fileURLToPath(new URL('../launcher/src', import.meta.url))
const CC = process.env['CC'] ?? 'cc'

const objects = scratchDir()
const compile = (...args: readonly string[]): void => {
  const { status, stderr } = spawnSync(CC, ['-std=c11', '-D_GNU_SOURCE', ...args], {
    cwd: objects,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
}

beforeAll(() => {
  const names = readdirSync(SOURCES).filter((name) => name.endsWith('.c'))
  compile('-c', ...names.map((name) => join(SOURCES, name)))
})

function changingLauncher(etc: string, changes: number): LauncherState {
  const dir = scratchDir()
  const path = join(dir, 'changing')
  writeFileSync(join(dir, 'change.c'), CHANGING)
  const parts = readdirSync(objects).filter((name) => name.endsWith('.o'))
  const chosen = [`-DETC="${etc}"`, `-DCHANGES=${changes}`]
  compile(...chosen, ...WRAPPED, join(dir, 'change.c'), ...parts, '-o', path)
  chmodSync(path, 0o755)
  return { state: 'ready', path }
}

async function runWith(
  who: Identity,
  { when, changes }: { readonly when: 'in-turn' | 'last'; readonly changes: number },
): Promise<{ readonly world: World; readonly said: string }> {
  const world = makeWorld(who, { 'etc/open': 'open', 'etc/key0': 'SECRET' })
  const etc = join(world.root, 'etc')
  chmodSync(join(etc, 'key0'), 0o600)
  const { stdin, stdout, exit } = spawnConfined(withSecretsIn(planFor({ who, world }), etc, when), {
    argv: ['sh', '-c', 'ls etc; cat etc/*'],
    env: BASE_ENV,
    launcher: changingLauncher(etc, changes),
    ...(who.as ? { as: who.as } : {}),
  })
  stdin?.end()
  const [said] = await Promise.all([
    text(stdout!),
    exit.catch((error: unknown) => {
      throw Object.assign(error as Error, { world })
    }),
  ])
  return { world, said }
}

// For root, what comes last is held without looking (decision 0247).
const WAYS = IDENTITIES.flatMap((who) =>
  (who.name === 'root' ? (['in-turn'] as const) : (['in-turn', 'last'] as const)).map((when) => ({
    who,
    when,
  })),
)

describe.each(WAYS)('a directory that changes while it is covered, $when, as $who.name', ({ who, when }) => {
  test.each([1, 5])('SPEC 4.3 it is looked through again, after %i changes', async (changes) => {
    const { said } = await runWith(who, { when, changes })
    expect(said).toBe(`key${changes}\nnew\nopen\nopen`)
  })

  test('SPEC 4.3 if it never rests, nothing is started', async () => {
    const failed = await runWith(who, { when, changes: 1000 }).catch((error: unknown) => error)
    const { root } = (failed as { readonly world: World }).world
    expect(String(failed)).toBe(
      `LaunchError: the sandbox could not be built, so nothing was started: cover ${root}/etc: ENOENT: the path changed after it was checked, or may not be entered\n  fix: try again`,
    )
    expect(existsSync(join(root, 'etc/key20'))).toBe(true)
  })
})
