import { basename, dirname, join } from 'node:path'
import { allowNetFlag, below, type Capability, type NetTarget, shellWord } from '@cordon/policy'
import { type KernelReport, probeKernel } from '@cordon/sandbox'
import { WRITING } from '../compile/names.ts'
import { isSecretRule } from '../compile/own-secrets.ts'
import { absolutePath, isThere, typedPath, wayOut, whyNeverGranted, whyOwn } from '../outside/place.ts'
import { realName } from '../real-name.ts'
import type { Chosen } from '../run/choose.ts'
import { type Answer, answer } from './answer.ts'
import type { RunPlace } from './enforced.ts'
import { askedPlace, byAddress, type LookUp, whyNoHosts } from './network.ts'
import { toldNotHeld } from './not-held.ts'
import { answerOutside, flagInside, flagPlace } from './outside.ts'
import type { Question } from './question.ts'
import type { Why } from './why.ts'
import { asInside } from './without-rules.ts'

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
    lookUp,
  }: { readonly options?: string; readonly kernel?: () => KernelReport; readonly lookUp?: LookUp } = {},
): Why {
  const told = (found: Answer, flag: string | undefined, notes: readonly string[] = []): Why => ({
    ...found,
    subject: chosen.label,
    notes,
    fix: undefined,
    ...(found.allowed || flag === undefined ? {} : { command: `cordon run ${options}${flag} -- COMMAND` }),
  })
  const { project, policy } = chosen
  if (question.axis === 'env')
    return told(answer(project.root, policy, question), `--env ${shellWord(question.target)}`)
  if (question.axis === 'net') {
    const asked = answer(project.root, policy, question)
    const never = chosen.sandbox.mode === 'off' ? undefined : whyNoHosts(kernel())
    // Nothing is started with a rule that allows a host, so no host is reached, and no flag helps.
    if (never !== undefined)
      return told(
        { ...asked, allowed: false, because: asked.allowed ? never : asked.because },
        undefined,
        asked.allowed ? [] : [never],
      )
    const { found, notes, wish } = byAddress(asked, policy.net, lookUp)
    const target = wish ?? askedPlace(question.target)
    // SPEC 1.5: without a port such a rule allows nothing.
    if (target.port === undefined && !found.allowed)
      return told(found, undefined, [
        `a rule for ${target.scheme} needs a port: ask for ${target.scheme}://${target.host}:PORT`,
      ])
    return told(found, allowNetFlag(asFlag(target)), notes)
  }
  const { root, guard } = project
  const path = asInside(absolutePath(question.target, place), place.cwd)
  const named = below(root.path, path, root.foldCase)
  const ruled = named === undefined ? undefined : answer(root, policy, { ...question, target: named })
  // What leaves the workspace by a link is for the kernel where it leads: no tool asks by the name.
  const led = ruled && !ruled.canonical && !ruled.rule ? leadsTo(path, question.capability) : undefined
  const inside = led === undefined ? named : below(root.path, led, root.foldCase)
  const found =
    ruled && inside !== undefined
      ? { ...toldNotHeld(ruled, policy, root, kernel), question }
      : answerOutside(chosen, question, led ?? path, { home: place.home, kernel })
  if (found.allowed) return told(found, undefined)
  // A flag grants what exists: the path, or for what is to be made there the directory above it.
  // Of a way through more links, the flag names the place by that way, so that they are there as well.
  const way = led === undefined ? undefined : wayOut(path, root.path)
  const granted =
    inside === undefined
      ? flagPlace(question.capability, way ?? found.canonical ?? path)
      : flagInside(question.capability, path)
  if (granted === undefined || found.canonical === undefined) return told(found, undefined)
  const wanted = { writes: WRITING.has(question.capability), guard }
  const never =
    inside === undefined ? whyNeverGranted(realName(granted) ?? granted, wanted) : whyOwn(granted, wanted)
  if (never === undefined)
    return told(found, `--${FLAGS[question.capability]} ${typedPath(granted, place.home)}`)
  const isSaid = found.rule?.axis === 'fs' && isSecretRule(found.rule.rule)
  return told(found, undefined, isSaid || !isThere(path) ? [] : [`no flag grants it: ${never}`])
}

/** SPEC 1.3: of what is removed the entry counts, and not what it leads to. */
function leadsTo(path: string, capability: Capability): string | undefined {
  if (capability !== 'delete') return realName(path)
  const parent = realName(dirname(path))
  return parent && join(parent, basename(path))
}

const FLAGS: Record<Capability, 'read' | 'write' | 'execute'> = {
  read: 'read',
  create: 'write',
  update: 'write',
  delete: 'write',
  execute: 'execute',
}

/** Of bytes that nobody looks into the port is all there is to say. */
const asFlag = ({ scheme, ...place }: NetTarget): Parameters<typeof allowNetFlag>[0] =>
  scheme === 'tcp' ? place : { scheme, ...place }
