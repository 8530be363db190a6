import fc from 'fast-check'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { formatValue, mergeSources, setValue } from '../src/index.ts'
import { markToml } from '../src/toml/marks.ts'
import { tomlDocument } from './random-toml.ts'

const commentsOf = (text: string): string[] =>
  markToml(text).comments.map((at) => text.slice(at).split('\n')[0]!.trimEnd())

/** The same tables with one key set, by the simplest means. */
function assigned(text: string, path: readonly string[], value: unknown): unknown {
  const root = parse(text) as Record<string, unknown>
  let here = root
  for (const key of path.slice(0, -1)) here = (here[key] ??= {}) as Record<string, unknown>
  here[path.at(-1)!] = value
  return root
}

const setting = fc.constantFrom<[string, readonly string[], unknown]>(
  ['sandbox.mode', ['sandbox', 'mode'], 'warn'],
  ['conversation.tools."a b".options.x', ['conversation', 'tools', 'a b', 'options', 'x'], [1, { y: 'z' }]],
  ['conversation.tools.*.timeout_secs', ['conversation', 'tools', '*', 'timeout_secs'], 7],
)

test('config set on random documents: that value, every other value, every comment', () => {
  fc.assert(
    fc.property(tomlDocument, fc.array(setting, { minLength: 1, maxLength: 3 }), (text, settings) => {
      let [before, wanted] = [text, parse(text) as unknown]
      for (const [key, path, value] of settings) {
        const after = setValue(before, key, formatValue(value))
        wanted = assigned(before, path, value)
        expect(parse(after)).toEqual(wanted)
        expect(commentsOf(after)).toEqual(commentsOf(text))
        before = after
      }
    }),
    { numRuns: 500 },
  )
})

test('config set replaces random values in random places, and nothing else', () => {
  fc.assert(
    fc.property(tomlDocument, fc.nat(), (inner, pick) => {
      // Below `options` any key is allowed, so the whole random document can stand there.
      const prefix = 'conversation.tools.t.options'
      const text = `[${prefix}]\n${inner.replaceAll(/^(\s*)\[(\[?)\s*(?=[Tl])/gm, `$1[$2${prefix}.`)}`
      const keys = Object.keys((parse(inner) as Record<string, unknown>) ?? {}).filter(
        (key) => !/^(?:T\d|lists)$/.test(key),
      )
      fc.pre(keys.length > 0)
      const key = keys[pick % keys.length]!
      const mark = ['conversation', 'tools', 't', 'options', key].reduce(
        (here: ReturnType<typeof markToml>['root'] | undefined, part) => here?.keys?.get(part),
        markToml(text).root,
      )!
      fc.pre(mark.to > mark.from)
      const after = setValue(
        text,
        `${prefix}.${JSON.stringify(key).replaceAll('\u007f', '\\u007f')}`,
        '"new"',
      )
      expect(after).toBe(`${text.slice(0, mark.from)}"new"${text.slice(mark.to)}`)
    }),
    { numRuns: 300 },
  )
})

test('rules added one by one to an empty file', () => {
  let text = '#:schema ./config.schema.json\n'
  text = setValue(text, 'conversation.tools.x.access.fs', '+{ path = "src", read = true }')
  text = setValue(text, 'conversation.tools.x.access.fs', '+{ path = ".env" }')
  text = setValue(text, 'conversation.tools.x.source', 'builtin')
  text = setValue(text, 'sandbox.sensitive', '+"~/.acme"')
  text = setValue(text, 'sandbox.sensitive', '+"~/.acme2"')
  expect(text).toBe(`#:schema ./config.schema.json

[[conversation.tools.x.access.fs]]
path = "src"
read = true

[[conversation.tools.x.access.fs]]
path = ".env"

[conversation.tools.x]
source = "builtin"

[sandbox]
sensitive = ["~/.acme", "~/.acme2"]
`)
})

const HAND_WRITTEN = `# mine
[conversation.tools.x]
source = "local" # here
command = "x"
access = { fs = [
  { path = ".", read = true }, # root
  { path = "docs" } # no comma
  # the end
] }

[conversation.tools.y.access.net] # long form
strategy = "replace"
value = [{ host = "a.example" },]
`

const ADDITIONS: readonly [name: string, key: string, value: string, line: string][] = [
  [
    'to a list over several lines',
    'conversation.tools.x.access.fs',
    '+{ path = "src" }',
    '  { path = "docs" }, # no comma\n  { path = "src" }\n  # the end',
  ],
  [
    'to a table in braces',
    'conversation.tools.x.access.env',
    '+{ name = "A", read = true }',
    '\n], env = [{ name = "A", read = true }] }\n',
  ],
  [
    'to the long form',
    'conversation.tools.y.access.net',
    '+{ host = "b.example" }',
    'value = [{ host = "a.example" }, { host = "b.example" }]',
  ],
]
for (const [name, key, value, line] of ADDITIONS)
  test(`a rule added ${name}`, () => {
    const after = setValue(HAND_WRITTEN, key, value)
    expect(after).toContain(line)
    expect(commentsOf(after)).toEqual(commentsOf(HAND_WRITTEN))
    const count = (text: string): number => JSON.stringify(parse(text)).split('{').length
    expect(count(after)).toBe(count(HAND_WRITTEN) + 1)
  })

const rule = fc.record({ path: fc.constantFrom('.', 'a', 'b/c'), read: fc.boolean() })

test('rules added to any spelling of a list come out at its end', () => {
  const spelling = fc.constantFrom('none', 'inline', 'lines', 'headers', 'long', 'long table')
  fc.assert(
    fc.property(
      spelling,
      fc.array(rule, { minLength: 1, maxLength: 3 }),
      fc.array(rule, { maxLength: 4 }),
      (how, old, added) => {
        const key = 'profiles.p.access.fs'
        const inline = `[${old.map(formatValue).join(', ')}]`
        const texts: Record<typeof how, string> = {
          none: '',
          inline: `[profiles.p.access]\nfs = ${inline} # c\nnet = []`,
          lines: `profiles.p.access.fs = [\n${old.map((one) => `\t${formatValue(one)}, # c\n`).join('')}]\n`,
          headers: `${old.map((one) => `[[${key}]] # c\npath = "${one.path}"\nread = ${one.read}\n`).join('\n')}[sandbox]\n`,
          long: `${key} = { value = ${inline}, strategy = "append" }\n`,
          'long table': `[${key}]\nstrategy = "prepend"\nvalue = ${inline}`,
        }
        let text = texts[how]
        for (const one of added) text = setValue(text, key, `+${formatValue(one)}`)
        const { config } = mergeSources([{ layer: 'workspace', label: 'w', text }])
        const rules =
          config.profiles['p']?.access.fs.map(({ path, grants }) => ({ path, read: grants.has('read') })) ??
          []
        expect(rules).toEqual([...(how === 'none' ? [] : old), ...added])
        expect(commentsOf(text)).toEqual(commentsOf(texts[how]))
      },
    ),
    { numRuns: 300 },
  )
})

const REFUSED: readonly [
  name: string,
  text: string,
  key: string,
  value: string,
  code: string,
  message: string,
][] = [
  [
    'an unknown key',
    '',
    'sandbox.mod',
    'warn',
    'CONFIG',
    'error: unknown key `sandbox.mod`\n  at config set sandbox.mod\n  fix: did you mean `mode`?',
  ],
  [
    'a wrong value',
    '',
    'sandbox.mode',
    'of',
    'CONFIG',
    'error: `sandbox.mode`: expected "enforce", "warn" or "off", got "of"\n  at config set sandbox.mode\n  fix: write mode = "off"',
  ],
  [
    'a rule that is none',
    '',
    'profiles.p.access.fs',
    '+{ path = "../x" }',
    'CONFIG',
    'error: `profiles.p.access.fs[0].path`: path escapes the workspace: ../x\n  at config set profiles.p.access.fs\n  fix: write a path below the workspace, such as path = "src"; to reach a place outside, link it into the workspace and write external = true',
  ],
  [
    'a rule without its plus',
    '',
    'profiles.p.access.fs',
    '{ path = "x" }',
    'CONFIG',
    'error: `profiles.p.access.fs` is a list, and this is one rule\n  at config set profiles.p.access.fs\n  fix: write \'+{ path = "x" }\' to add the rule to it',
  ],
  [
    'a key that is none',
    '',
    'a..b',
    '1',
    'CONFIG',
    'error: `a..b` is not a key\n  at config set a..b\n  fix: write the parts with dots between them: sandbox.mode',
  ],
  [
    'a broken value',
    '',
    'sandbox.sensitive',
    '["a"',
    'CONFIG',
    'error: the value is not valid TOML: expected comma or end of structure\n  at config set sandbox.sensitive\n  fix: write true, 5, "text", ["a"] or { a = 1 }',
  ],
  [
    'a broken file',
    '[sandbox\n',
    'sandbox.mode',
    'warn',
    'CONFIG',
    'error: not valid TOML: illegal character in key\n  at the config file:1:9',
  ],
  [
    'a list written with headers, as a whole',
    '[[profiles.p.access.fs]]\npath = "x"\n',
    'profiles.p.access.fs',
    '[]',
    'CONFIG_EDIT',
    'cannot set `profiles.p.access.fs` without rewriting other parts of the file\n  fix: open the file and write profiles.p.access.fs = [] yourself',
  ],
  [
    'a table inside of a list, which would land in its last element',
    '[[conversation.tools.x.options.list]]\na = 1\n',
    'conversation.tools.x.options.list.sub.y',
    '1',
    'CONFIG_EDIT',
    'cannot set `conversation.tools.x.options.list.sub.y` without rewriting other parts of the file\n  fix: open the file and write conversation.tools.x.options.list.sub.y = 1 yourself',
  ],
  [
    'a file that is deeper than any stack',
    `${'a.'.repeat(200_000)}b = 1\n`,
    'sandbox.mode',
    'warn',
    'CONFIG',
    'error: the file holds more than 64 levels of tables and lists\n  at config set sandbox.mode\n  fix: write it flatter',
  ],
]
for (const [name, text, key, value, code, message] of REFUSED)
  test(`config set refuses ${name}`, () => {
    let refused: unknown
    try {
      setValue(text, key, value)
    } catch (error) {
      refused = { code: (error as { code?: string }).code, message: (error as Error).message }
    }
    expect(refused).toEqual({ code, message })
  })
