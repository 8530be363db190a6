import type { Command } from '../commands.ts'
import { digestTold } from '../operations/content.ts'
import { listOf } from '../operations/directories.ts'
import type { Work } from '../operations/operation.ts'
import { SEARCHED } from '../operations/search.ts'
import { letterOf, requireAlso, surveyTree, type TreeChecks, treeOf } from '../operations/tree.ts'
import { Refusal } from '../errors.ts'
import { capPaths, MOST_PATHS } from './capped-paths.ts'
import type { ApprovalRequest } from './request.ts'

/** Of a directory: all that would go, be told or be searched (decision 0414). The rest as `Surveyed` has it. */
interface SurveyedDirectory {
  readonly content: string
  readonly meant?: string
  readonly wanted?: string
  readonly request: Pick<
    ApprovalRequest,
    'files' | 'directories' | 'bytes' | 'links' | 'onlyNames' | 'paths' | 'kinds' | 'pathsLeftOut'
  >
}

/** Undefined: what is done to it is not about what is in it. */
export async function surveyDirectory(
  command: Command,
  work: Work<Command>,
): Promise<SurveyedDirectory | undefined> {
  const { place, may } = work
  if (place.stat?.kind !== 'directory') return undefined
  // Where there is none, who may see that was told; for others a person is asked about what is there, or is not.
  if (command === '/filesystem/dir/delete_recursive')
    return surveyBelow(work, may('/filesystem/file/stat', place) ? removalChecks(work) : {})
  if (command === '/filesystem/file/search')
    return { ...(await surveyBelow(work, SEARCHED)), meant: LOOKED_INTO, wanted: soughtBy(work) }
  if (command === '/filesystem/dir/list') {
    const told = await listOf(work)
    const above = place.path === '/' ? '' : place.path
    const entries = told.entries.map(({ name, kind }) => ({ path: `${above}/${name}`, kind }))
    return surveyNames(told, entries)
  }
  if (command === '/filesystem/dir/tree') {
    const told = await treeOf(work)
    return surveyNames(told, told.entries)
  }
  return undefined
}

const LOOKED_INTO = 'whatever is in it'

/** A no to look for a text is a no however it is spelled. */
export const soughtBy = ({ args: { text } }: Work<'/filesystem/file/search'>): string => text.toLowerCase()

async function surveyBelow(work: Work<Command>, checks: TreeChecks): Promise<SurveyedDirectory> {
  const { files, directories, bytes, links, paths, kinds, digest } = await surveyTree(
    work,
    checks,
    MOST_PATHS,
  )
  return {
    content: digest,
    request: {
      files,
      directories: directories + 1, // with the one that was named
      bytes,
      ...(links > 0 ? { links } : {}),
      ...capPaths(paths, kinds, files + directories),
    },
  }
}

/** What is signed for is the answer, to the last name. */
function surveyNames(
  told: unknown,
  entries: readonly { readonly path: string; readonly kind: string }[],
): SurveyedDirectory {
  const count = (wanted: string): number => entries.filter(({ kind }) => kind === wanted).length
  const first = entries.slice(0, MOST_PATHS)
  return {
    content: digestTold(told),
    meant: LOOKED_INTO,
    request: {
      files: entries.length - count('directory'),
      directories: count('directory'),
      bytes: 0,
      ...(count('link') > 0 ? { links: count('link') } : {}),
      onlyNames: true,
      ...capPaths(
        first.map(({ path }) => path),
        first.map(({ kind }) => letterOf(kind)).join(''),
        entries.length,
      ),
    },
  }
}

/** A tree that will not go whole is not asked about: the removal takes no name that it cannot say, and nothing withheld. */
const removalChecks = (work: Work<Command>): TreeChecks => ({
  each: (entry) => requireAlso(work, entry),
  unnameable: () => {
    throw new Refusal('bad_request', 'it holds a name that is not UTF-8, which is not removed')
  },
})
