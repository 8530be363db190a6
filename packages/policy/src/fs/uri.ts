import { ROOT } from './rel-path.ts'

/** SPEC 6.3: rooted at the workspace, so that it means the same on every machine: `file:///src/a.ts` is `src/a.ts`. */
export const workspaceUri = (relative: string, fragment = ''): string =>
  `file:///${relative === ROOT ? '' : encodeURI(relative).replaceAll('#', '%23').replaceAll('?', '%3F')}${fragment}`

/** The workspace-relative path; undefined for anything else. */
export function parseWorkspaceUri(uri: string): string | undefined {
  if (!uri.startsWith('file:///')) return undefined
  try {
    return decodeURIComponent(uri.slice('file:///'.length))
  } catch {
    return undefined
  }
}
