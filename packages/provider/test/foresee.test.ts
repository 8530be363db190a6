import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Command } from '../src/commands.ts'
import { foresee, supposedAt } from '../src/pipeline/foresee.ts'
import { parsePrefix } from '../src/tokens/prefix.ts'
import { type Agent, send, TestPlace } from './place.ts'

let place: TestPlace
let agent: Agent
beforeAll(async () => {
  place = await TestPlace.start()
  const prefix = parsePrefix(place.files)
  agent = await place.agent('bot', [
    { name: 'filesystem:subdir-read', prefix },
    { name: 'filesystem:write-subdir', prefix },
    { name: 'filesystem:delete-step-up', prefix },
  ])
})
afterAll(() => place.close())

test.each<Command>([
  '/filesystem/dir/list',
  '/filesystem/dir/tree',
  '/filesystem/dir/create',
  '/filesystem/dir/delete',
  '/filesystem/dir/delete_recursive',
])(
  'SPEC 7.4 what is foreseen is what is answered: %s, of what was delegated and below it',
  async (command) => {
    const below = join(place.files, command.split('/').at(-1)!)
    for (const path of [place.files, below]) {
      const exists = path === place.files || command !== '/filesystem/dir/create'
      if (exists) mkdirSync(path, { recursive: true })
      const request = {
        app: 'bot',
        agent: agent.key.did,
        command,
        resource: supposedAt(command, { path, exists }),
      }
      const { answer, refusal, verdict } = await foresee(place.database, request, place.clock())
      const { code } = await send(agent, command, { path })
      const foreseen = { allow: 'ok', step_up: 'step_up_required', deny: refusal?.code ?? 'policy_denied' }[
        answer
      ]
      expect([path, foreseen]).toEqual([path, code])
      if (command === '/filesystem/dir/delete_recursive')
        expect([path, verdict, code]).toEqual([
          path,
          'step_up',
          path === below ? 'step_up_required' : 'resource_out_of_scope',
        ])
    }
  },
)
