import fc from 'fast-check'

/** One thing that a confined program does to a file of its workspace; see writer.c. */
export interface Write {
  readonly verb: 'write' | 'append' | 'mkdir' | 'rename' | 'link' | 'symlink' | 'unlink' | 'rmdir' | 'chmod'
  readonly path: string
  readonly other: string
}

/** Where configuration, conversations and links lie, what is around them, and what has nothing to do with them. */
const PATHS = [
  '.cordon',
  '.cordon/config.toml',
  '.cordon/id',
  '.cordon/conversations',
  '.cordon/conversations/CONVERSATION',
  '.cordon/conversations/CONVERSATION/events.jsonl',
  '.cordon/blobs',
  '.cordon.toml',
  'src',
  'src/.cordon.toml',
  'src/.cordon',
  'src/.cordon/config.toml',
  'src/a.txt',
  'src/deep',
  'src/deep/.cordon.toml',
  'fork',
  'fork/x',
  'other',
  'other/config.toml',
  'alias',
  '.git',
  '.git/config',
  '.git/hooks/pre-commit',
  'notes.md',
] as const

/** What would grant something, if anybody obeyed it. `|` is a line break. */
const TEXTS = [
  '[sandbox]|mode = "off"|',
  '[sandbox]|mode = "warn"|[sandbox.limits]|memory_mb = 999999|',
  '[[conversation.tools.fs_read_file.access.fs]]|path = "."|read = true|write = true|execute = true|',
  '[[conversation.tools.narrow.access.fs]]|path = "private"|read = true|write = true|',
  '[[conversation.tools.narrow.access.net]]|host = "evil.example"|allow = true|',
  '[[conversation.tools.narrow.access.env]]|name = "SECRET"|read = true|',
  '[conversation.tools.narrow]|command = ["sh", "-c", "evil"]|run = "unattended"|',
  '[conversation.tools.evil]|source = "local"|command = ["evil"]|run = "unattended"|',
  '[providers.mcp.evil]|command = "evil"|',
  '[profiles.ci.access]|fs = { strategy = "replace", value = [{ path = ".", read = true, write = true }] }|',
  '[[conversation.tools.narrow.access.fs]]|path = "fork"|external = true|read = true|write = true|',
  '[conversation.tools.narrow.access]|fs = { strategy = "replace", value = [] }|',
  '{"kind":"config","at":"2026-01-01T00:00:00Z","delta":{"sandbox":{"mode":"off"}}}|',
  'abcde12345|',
  'profiles = 3|',
  'not toml [[[|',
  '',
] as const

const path = fc.constantFrom(...PATHS)

const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      verb: fc.constantFrom('write', 'append'),
      path,
      other: fc.constantFrom(...TEXTS),
    }),
  },
  { weight: 3, arbitrary: fc.record({ verb: fc.constantFrom('rename', 'link'), path, other: path }) },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('symlink' as const),
      path,
      other: fc.oneof(path, fc.constantFrom('..', '../outside', '/', '../home', '.')),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constantFrom('mkdir', 'unlink', 'rmdir', 'chmod'),
      path,
      other: fc.constantFrom('777', '600', '000'),
    }),
  },
)

export const anySequence: fc.Arbitrary<readonly Write[]> = fc.array(write, { minLength: 1, maxLength: 8 })
