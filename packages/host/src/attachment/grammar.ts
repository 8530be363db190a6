import { parseWorkspaceUri } from '@cordon/policy'
import { AttachError, parseExternalUri } from '@cordon/workspace'
import { joinWords, splitWords } from './words.ts'

/** What was asked to be attached, taken apart and not yet looked at. */
export type AttachRequest =
  /** A file, a directory or a pattern, from the current directory. */
  | { readonly kind: 'path'; readonly text: string; readonly path: string }
  /** The same by the URI that Cordon shows for it, from the workspace's root. */
  | { readonly kind: 'workspace'; readonly text: string; readonly path: string }
  | { readonly kind: 'url'; readonly text: string; readonly url: string }
  | { readonly kind: 'command'; readonly text: string; readonly argv: readonly [string, ...string[]] }

/**
 * `--attach PATH|URL` (SPEC 6.3), decision 0110. Pure; throws AttachError. Whatever is not plainly a URL is a path, and
 * `./` before a path that looks like one makes it a path.
 */
export function parseAttachment(text: string): AttachRequest {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase()
  switch (scheme) {
    case 'https':
      return { kind: 'url', text, url: parseUrl(text) }
    case 'http':
      throw new AttachError(text, 'what http sends can be changed on the way; write https://')
    case 'command':
      return { kind: 'command', text, argv: parseCommand(text) }
    case 'file':
      return { kind: 'workspace', text, path: parseFile(text) }
    case 'external':
      if (!parseExternalUri(text)) return { kind: 'path', text, path: text }
      throw new AttachError(text, 'it names a snapshot of a file; write the path of the file')
    case 'mcp':
      throw new AttachError(text, 'resources of MCP servers cannot be attached yet')
    case undefined:
    default:
      if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text))
        throw new AttachError(
          text,
          `nothing attaches ${scheme}: URLs; a path, https: and command: can be attached`,
        )
      return { kind: 'path', text, path: text }
  }
}

/** The URI of a command's output: the command as a person reads it. */
export const commandUri = (argv: readonly string[]): string => `command:${joinWords(argv)}`

/** Without the fragment, which no server sees. A password would be kept in the conversation. */
function parseUrl(text: string): string {
  if (!/^https:\/\//i.test(text) || !URL.canParse(text)) throw new AttachError(text, 'it is not a valid URL')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '')
    throw new AttachError(
      withoutUser(url),
      'a user name or password in a URL would be kept in the conversation',
    )
  url.hash = ''
  return url.href
}

function withoutUser(url: URL): string {
  url.username = ''
  url.password = ''
  return url.href
}

function parseCommand(text: string): readonly [string, ...string[]] {
  const words = splitWords(text.slice('command:'.length))
  if ('problem' in words) throw new AttachError(text, words.problem)
  const [program, ...args] = words
  if (program === undefined || program === '') throw new AttachError(text, 'there is no command in it')
  if (words.some((word) => word.includes('\0'))) throw new AttachError(text, 'it contains a NUL byte')
  return [program, ...args]
}

function parseFile(text: string): string {
  const path = parseWorkspaceUri(text)
  if (path !== undefined && path !== '') return path
  throw new AttachError(
    text,
    'file:/// and a path below the workspace was expected; for other files write the path',
  )
}
