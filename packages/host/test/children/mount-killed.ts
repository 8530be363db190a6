import { openConversation } from '@cordon/workspace'
import { findChosen, startConversation } from '../../src/conversation/choose.ts'
import { openAmbientProjectIn, shelfOf } from '../../src/conversation/open.ts'
import { applyMounts } from '../../src/mount/apply.ts'
import { planIn } from '../../src/mount/change.ts'
import type { MountFlag } from '../../src/mount/plan.ts'
import { requireWorkspace } from '../../src/project.ts'
import { watchedEffects } from '../mount/effects.ts'
import { TRUSTING } from '../trusting.ts'

/** Does what `cordon mount` does, and is killed by the kernel before the effect with the given number. */
const { root, home, flags, killed } = JSON.parse(process.argv[2] ?? '') as {
  root: string
  home: string
  flags: MountFlag[]
  killed: number
}
const surroundings = { env: {}, platform: 'linux', home, uid: process.getuid?.() }
const options = { cwd: root, surroundings, cfg: [], trust: TRUSTING }
const user = { pid: process.pid, session: 'lab' }
const shelf = shelfOf(requireWorkspace(options), user)
const ref = (await findChosen(shelf, 'lab', 'last used')) ?? (await startConversation(shelf, 'lab'))
const writer = await openConversation(shelf, ref, { wait: 0 })
const project = await openAmbientProjectIn(options, user, 'last used')
let count = 0
const effects = watchedEffects(project, writer, () => {
  if (++count === killed) process.kill(process.pid, 'SIGKILL')
})
await applyMounts(planIn(project, options, flags), effects)
