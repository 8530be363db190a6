import type { MountOutcome, MountPlan, MountView } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable, wrapList } from './text.ts'

type Done = Extract<MountOutcome, { kind: 'done' }>

export function formatMounting({ conversation, started, plan }: Done): string {
  return [
    ...plan.steps.map(formatStep),
    `in ${started === 'new' ? 'the new ' : ''}conversation ${conversation.id}`,
    '',
  ].join('\n')
}

function formatStep(step: MountPlan['steps'][number]): string {
  if (step.kind === 'mount') {
    const whom = step.added.length === 0 ? ['as before'] : names(step.added)
    return lines(`mounted ${show(step.name)} → ${show(step.target)} (${step.mode})`, whom)
  }
  const kept = step.link === 'not a link' ? '; what has that name is not a link, and was left as it is' : ''
  return lines(`unmounted ${show(step.name)}${kept}`, names(step.removed))
}

const lines = (first: string, rest: readonly string[]): string =>
  [first, ...wrapList(rest, 76).map((line) => `  ${line}`)].join('\n')

const names = (subjects: readonly { readonly name: string }[]): string[] =>
  subjects.map(({ name }) => show(name))

export const NOTHING_MOUNTED = { conversation: null, new: false, steps: [] }

export const mountingJson = ({ conversation, started, plan }: Done): Record<string, unknown> => ({
  conversation: conversation.id,
  new: started === 'new',
  steps: plan.steps.map((step) =>
    step.kind === 'mount'
      ? {
          mounted: step.name,
          target: step.target,
          mode: step.mode,
          link: step.link === 'make' ? 'made' : 'kept',
          tools: step.tools,
          added: step.added.map(({ name }) => name),
        }
      : {
          unmounted: step.name,
          link: step.link === 'remove' ? 'removed' : step.link,
          tools: step.removed.map(({ name }) => name),
        },
  ),
})

export const mountJson = ({
  name,
  target,
  tools,
  mode,
  state,
  reason,
}: MountView): Record<string, unknown> => ({
  name,
  target: target ?? null,
  tools,
  mode,
  state,
  reason: reason ?? null,
})

/** The tools come last, because they are many; what is wrong with a mount is said below the table. */
export function formatMounts(mounts: readonly MountView[], { style }: Pick<Stream, 'style'>): string {
  const rows = mounts.flatMap(({ name, target, tools, mode, state }) => {
    const [first = '', ...more] = wrapList(tools.map(show), 44)
    const row = [show(name), target === undefined ? '-' : show(target), mode, state, first]
    return [row, ...more.map((line) => ['', '', '', '', line])]
  })
  const [head = '', ...body] = formatTable([['NAME', 'TARGET', 'MODE', 'STATE', 'TOOLS'], ...rows]).split(
    '\n',
  )
  const reasons = mounts.flatMap(({ name, state, reason }) =>
    reason === undefined ? [] : [`${style('yellow', `${state}:`)} ${show(name)}: ${show(reason)}\n`],
  )
  return `${style('bold', head)}\n${body.join('\n')}${reasons.length === 0 ? '' : `\n${[...new Set(reasons)].join('')}`}`
}
