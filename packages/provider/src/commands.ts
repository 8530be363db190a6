/**
 * SPEC 7.2: everything an agent can ask for. One name in three spellings: the UCAN command and the Cedar
 * action are `/filesystem/file/read`, the tool is `filesystem_file_read`.
 */
export const COMMANDS = [
  '/filesystem/file/read',
  '/filesystem/file/write',
  '/filesystem/file/create',
  '/filesystem/file/delete',
  '/filesystem/file/move',
  '/filesystem/file/copy',
  '/filesystem/file/edit',
  '/filesystem/file/stat',
  '/filesystem/file/search',
  '/filesystem/dir/list',
  '/filesystem/dir/tree',
  '/filesystem/dir/create',
  '/filesystem/dir/delete',
  '/filesystem/dir/delete_recursive',
] as const

export type Command = (typeof COMMANDS)[number]

const KNOWN: ReadonlySet<string> = new Set(COMMANDS)

export const isCommand = (text: string): text is Command => KNOWN.has(text)

/** `filesystem_file_read` */
export const toolNameOf = (command: Command): string => command.slice(1).replaceAll('/', '_')

/** A command of UCAN: a known one or one above it, such as `/filesystem/dir` or `/filesystem`. */
export const isCommandScope = (text: string): boolean =>
  COMMANDS.some((command) => coversCommand(text, command))

/** Whether one command grants another, segment by segment: `/filesystem/dir` never grants `/filesystem/directory`. */
export const coversCommand = (wide: string, narrow: string): boolean =>
  wide === '/' || narrow === wide || narrow.startsWith(`${wide}/`)
