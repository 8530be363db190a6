import type { MountOutcome, MountPlan, MountView } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable, wrapList } from './text.ts'

type Done = Extract<MountOutcome, { kind: 'done' }>

export function formatMounting({ conversation, started, plan }: Done): string {
  return [
    ...plan.steps.map(formatStep),
    `in ${started === 'new' ? 'the new ' : ''}conversation ${conversation.id}`,
    ...(plan.steps.some((step) => step.kind === 'unmount' && step.removed.length > 0) ? [FROZEN] : []),
    '',
  ].join('\n')
}

/** SPEC 3.4: what is left is written there as a whole. */
const FROZEN =
  'note: in this conversation the rules of these tools stay as they are now, whatever files say later; --no-id or a new conversation has those of the files'

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
export function formatMounts(
  mounts: readonly MountView[],
  { style, columns = Infinity }: Pick<Stream, 'style' | 'columns'>,
): string {
  const facts = mounts.map(({ name, target, mode, state }) => [
    show(name),
    target === undefined ? '-' : show(target),
    mode,
    state,
  ])
  const before =
    Math.max(
      ...formatTable([HEAD, ...facts])
        .split('\n')
        .map(({ length }) => length),
    ) + 2
  const room = Math.min(WIDEST, Math.max(columns - before, NARROWEST))
  const rows = mounts.flatMap(({ tools }, i) => {
    const [first = '', ...more] = wrapList(tools.map(show), room)
    return [[...facts[i]!, first], ...more.map((line) => ['', '', '', '', line])]
  })
  const [head = '', ...body] = formatTable([[...HEAD, 'TOOLS'], ...rows]).split('\n')
  const reasons = mounts.flatMap(({ name, state, reason }) =>
    reason === undefined ? [] : [`${style('yellow', `${state}:`)} ${show(name)}: ${show(reason)}\n`],
  )
  return `${style('bold', head)}\n${body.join('\n')}${reasons.length === 0 ? '' : `\n${[...new Set(reasons)].join('')}`}`
}

const HEAD = ['NAME', 'TARGET', 'MODE', 'STATE'] as const
const WIDEST = 44
const NARROWEST = 16
