import { setImmediate as yieldToEvents } from 'node:timers/promises'
import { type Location, ROOT } from '@cordon/policy'
import { type Anchors } from '../anchors.ts'
import { type Met } from '../walk/workspace-walk.ts'
import { findCandidates } from './candidates.ts'
import { type Query } from './ripgrep.ts'
import { type Limits, Search, type SearchResult } from './search.ts'

/** Reads every file itself, and lets ripgrep look at what was read. */
export async function searchAll(
  files: Iterable<Met>,
  program: string,
  query: Query,
  limits: Limits,
): Promise<SearchResult> {
  const search = new Search(program, query, limits)
  try {
    for (const met of files) {
      if (search.isOver) break
      if (met.kind === 'file') await search.add(met.name, met.open)
    }
    return await search.finish()
  } finally {
    search.stop()
  }
}

/** The same, but reads only what a first look of ripgrep's names; the walk goes on meanwhile. */
export async function searchCandidates(
  files: Iterable<Met>,
  start: Location,
  anchors: Anchors,
  program: string,
  query: Query,
  limits: Limits,
): Promise<SearchResult> {
  const looking = findCandidates(program, query, start.absolute, limits.milliseconds)
  const met: Met[] = []
  for (const one of files) {
    if (one.kind !== 'file') continue
    if (met.push(one) % LISTED_AT_ONCE === 0) await yieldToEvents() // so that ripgrep's output is taken
  }
  const candidates = await looking
  const search = new Search(program, query, limits)
  try {
    for (const { name, anchor, inside } of met) {
      if (search.isOver) break
      const below = anchor === start.anchor ? belowStart(start, inside) : undefined
      if (candidates && below !== undefined && !candidates.has(below)) search.passOver()
      else await search.add(name, () => anchors.of({ anchor, relative: name, inside }).open(inside))
    }
    return await search.finish()
  } finally {
    search.stop()
  }
}

const LISTED_AT_ONCE = 2000

const belowStart = ({ inside: top }: Location, inside: string): string | undefined => {
  if (top === ROOT) return inside
  return inside.startsWith(`${top}/`) ? inside.slice(top.length + 1) : undefined
}
