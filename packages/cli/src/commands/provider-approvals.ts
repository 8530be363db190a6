import { show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { approvalJson, formatApproval, formatApprovals } from '../format/provider.ts'
import { asAdmin, providerCommand, type ProviderFlags } from '../provider.ts'
import { EXIT, UsageError, writeJson } from '../report.ts'

/** SPEC 7.5 at the host's terminal. */
export const registerApprovals: Register = (parser, world) => {
  const approvals = parser.command('approvals').description('what waits, or waited, for a person')
  providerCommand(approvals, 'ls', 'list what waits, then the rest; each the newest first').action(
    async (flags: ProviderFlags) => {
      const all = await asAdmin(world, flags, (admin) => admin.approvals())
      if (flags.json) return writeJson(world, all.map(approvalJson))
      if (all.length === 0) return world.err.write('nothing waits for you\n')
      world.out.write(formatApprovals(all))
    },
  )

  providerCommand(approvals, 'forget', 'take a no back: the same request is asked about again')
    .argument('<id>')
    .action(async (id: string, flags: ProviderFlags) => {
      const { state } = await asAdmin(world, flags, async (admin) => {
        const said = await admin.approval(id)
        if (!said) throw new UsageError(`there is no approval ${show(id)}`)
        if (said.noUntil === undefined)
          throw new UsageError(
            said.state === 'denied'
              ? `the no to ${show(id)} counts no more already`
              : `no answer of a person stands in the way of ${show(id)}: it is ${said.state}`,
          )
        return admin.takeBackNo(id)
      })
      if (flags.json) writeJson(world, { id, state })
      else world.out.write(`the no to ${id} counts no more: the agent can ask again\n`)
    })

  providerCommand(parser, 'approve', 'sign for one request of an agent, once, after looking at it')
    .argument('<id>')
    .action(async (id: string, flags: ProviderFlags) => {
      const { approver } = world
      if (!approver) throw new UsageError('a person must approve it, and there is no terminal to ask one at')
      await asAdmin(world, flags, async (admin) => {
        const asked = await admin.approval(id)
        if (!asked) throw new UsageError(`there is no approval ${show(id)}`)
        if (asked.state !== 'open') throw new UsageError(`the approval ${id} is ${asked.state} already`)
        const answer = await approver.decides(
          `${formatApproval(asked)}\nSign for it? [y]es, [n]o for an hour, anything else decides nothing: `,
        )
        if (answer !== 'yes') {
          if (answer === 'no') await admin.decide(id, 'deny')
          world.err.write(answer === 'no' ? 'denied\n' : 'nothing was decided; it still waits\n')
          return world.finish(EXIT.denied)
        }
        const { state } = await admin.decide(id, 'approve')
        if (flags.json) writeJson(world, { id, state })
        else world.out.write(`approved ${id}: the agent can ask again, once\n`)
      })
    })

  providerCommand(parser, 'deny', 'say no; the same request is not asked again for an hour')
    .argument('<id>')
    .action(async (id: string, flags: ProviderFlags) => {
      const { state } = await asAdmin(world, flags, (admin) => admin.decide(id, 'deny'))
      if (flags.json) writeJson(world, { id, state })
      else world.out.write(`denied ${id}\n`)
    })
}
