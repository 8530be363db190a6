import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GuardSurvey } from '../../src/guard/survey.ts'
import { ledPlaces } from '../../src/outside/led.ts'
import { profilePlaces } from '../../src/outside/profile.ts'

test('decision 0540: what is granted is what a person was asked about, also when the link changed since', () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-led-')))
  for (const name of ['real', 'private', 'w']) mkdirSync(join(home, name))
  symlinkSync('real', join(home, 'data'))
  const guard = new GuardSurvey({
    root: join(home, 'w'),
    cwd: join(home, 'w'),
    home,
    own: [],
    gitConfigs: [],
  })
  const world = { cwd: home, home, guard, unfinished: join(home, 'none') }
  const grants = new Set(['read'] as const)
  const place = { path: '~/data', grants, replace: false, origin: 'config:1' }
  const led = ledPlaces([place], world)
  expect(led).toEqual([{ origin: 'config:1 ~/data', named: join(home, 'data'), path: join(home, 'real') }])
  expect(profilePlaces([place], led, world, 'make').rules).toMatchObject([
    { path: join(home, 'real').slice(1), written: join(home, 'data').slice(1) },
  ])
  unlinkSync(join(home, 'data'))
  symlinkSync('private', join(home, 'data'))
  expect(() => profilePlaces([place], led, world, 'make')).toThrow(
    /^config:1 ~\/data: it leads elsewhere by now$/,
  )
  expect(() => profilePlaces([place], [], world, 'make')).toThrow('it leads elsewhere by now')
})
