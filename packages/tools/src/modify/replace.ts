import { show } from '@cordon/policy'
import { ToolError } from '../report.ts'

export interface Replacement {
  readonly old: string
  readonly new: string
  readonly all?: boolean
}

/** Exactly one place, or all of them if asked. Anything else is an error that says what would help. */
export function replaceExactly(path: string, text: string, { old, new: next, all }: Replacement): string {
  if (old === '')
    throw new ToolError(`${show(path)}: old is empty; to insert, repeat the text beside the new text`)
  const places = findAll(text, old)
  if (places.length === 0)
    throw new ToolError(`${show(path)}: the old text is not in the file${nearMiss(text, old)}`)
  if (all) return text.replaceAll(old, () => next)
  const [only = 0, ...others] = places
  if (others.length > 0)
    throw new ToolError(
      `${show(path)}: the old text is in the file ${places.length === MOST_PLACES ? 'many' : places.length} times ` +
        `(lines ${places
          .slice(0, 8)
          .map((at) => lineAt(text, at))
          .join(', ')}); repeat more of its surroundings, or set all`,
    )
  return text.slice(0, only) + next + text.slice(only + old.length)
}

const MOST_PLACES = 1000

/** Overlapping ones, too: they make the place ambiguous just as well. */
function findAll(text: string, part: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(part); at >= 0 && places.length < MOST_PLACES; at = text.indexOf(part, at + 1))
    places.push(at)
  return places
}

const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length

/** The most common mistake: everything but the whitespace was right. */
function nearMiss(text: string, old: string): string {
  const wanted = old.split('\n').map(bare).filter(Boolean)
  const first = wanted[0]
  if (first === undefined) return ''
  const lines = text.split('\n').map(bare)
  const at = lines.findIndex((line, i) => line === first && wanted.every((want, n) => lines[i + n] === want))
  return at < 0 ? '' : `; line ${at + 1} has it with other whitespace`
}

const bare = (line: string): string => line.replaceAll(/\s+/g, ' ').trim()
