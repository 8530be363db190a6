import { allowNetFlag, below, type Capability, parseNetTarget, shellWord } from '@cordon/policy'
import { type KernelReport, probeKernel } from '@cordon/sandbox'
import { WRITING } from '../compile/names.ts'
import { isSecretRule } from '../compile/own-secrets.ts'
import { absolutePath, isThere, typedPath, whyNeverGranted, whyOwn } from '../outside/place.ts'
import type { Chosen } from '../run/choose.ts'
import { type Answer, answer } from './answer.ts'
import type { RunPlace } from './enforced.ts'
import { toldNotHeld } from './not-held.ts'
import { answerOutside, flagPlace } from './outside.ts'
import type { Question } from './question.ts'
import type { Why } from './why.ts'

/**
 * `cordon why run …` and of a shipped profile: what a `cordon run` here would have, and the flag that would change it
 * (SPEC 4.7, 4.8). `options` are those that the run is given already.
 */
export function whyRun(
  chosen: Chosen,
  question: Question,
  place: RunPlace,
  {
    options = '',
    kernel = probeKernel,
  }: { readonly options?: string; readonly kernel?: () => KernelReport } = {},
): Why {
  const told = (found: Answer, flag: string | undefined, notes: readonly string[] = []): Why => ({
    ...found,
    subject: chosen.label,
    notes,
    fix: undefined,
    ...(found.allowed || flag === undefined ? {} : { command: `cordon run ${options}${flag} -- COMMAND` }),
  })
  const { project, policy } = chosen
  if (question.axis !== 'fs') return told(answer(project.root, policy, question), flagFor(question))
  const { root, guard } = project
  const path = absolutePath(question.target, place)
  const inside = below(root.path, path, root.foldCase)
  const found =
    inside === undefined
      ? answerOutside(chosen, question, path, { home: place.home, kernel })
      : { ...toldNotHeld(answer(root, policy, { ...question, target: inside }), policy, root), question }
  if (found.allowed) return told(found, undefined)
  // A flag grants what exists: the path, or for what is to be made there the directory above it.
  const granted = flagPlace(question.capability, inside === undefined ? (found.canonical ?? path) : path)
  if (granted === undefined || found.canonical === undefined) return told(found, undefined)
  const wanted = { writes: WRITING.has(question.capability), guard }
  const never = inside === undefined ? whyNeverGranted(granted, wanted) : whyOwn(granted, wanted)
  if (never === undefined)
    return told(found, `--${FLAGS[question.capability]} ${typedPath(granted, place.home)}`)
  const isSaid = found.rule?.axis === 'fs' && isSecretRule(found.rule.rule)
  return told(found, undefined, isSaid || !isThere(path) ? [] : [`no flag grants it: ${never}`])
}

const FLAGS: Record<Capability, 'read' | 'write' | 'execute'> = {
  read: 'read',
  create: 'write',
  update: 'write',
  delete: 'write',
  execute: 'execute',
}

const flagFor = (question: Exclude<Question, { axis: 'fs' }>): string =>
  question.axis === 'env'
    ? `--env ${shellWord(question.target)}`
    : allowNetFlag(parseNetTarget(question.target))
