import { describe, expect, test } from 'vitest'
import { authorOf, ConfigError, LAYERS, type LayerName, mergeSources, type Source } from '../src/index.ts'

const text = (layer: LayerName, toml: string): Source => ({ layer, label: layer, text: toml })

function messageOf(...sources: Source[]): string {
  try {
    mergeSources(sources)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
  return 'no error'
}

test('SPEC 2.1 every layer has an author', () => {
  const files = LAYERS.filter((layer) => authorOf({ layer }) === 'files')
  expect(files).toEqual(['workspace', 'directory', 'conversation'])
  const sealed = LAYERS.filter((layer) => authorOf({ layer, sealed: true }) === 'files')
  expect(sealed).toEqual(['workspace', 'directory'])
})

describe('SPEC 2.1 files cannot set sandbox.mode, to whatever value', () => {
  for (const layer of ['workspace', 'directory', 'conversation'] as const)
    for (const mode of ['off', 'warn', 'enforce'])
      test(`${layer}: ${mode}`, () => {
        expect(messageOf(text(layer, `# mine\n[sandbox]\nmode = "${mode}"\n`))).toBe(
          'error: `sandbox.mode`: the files of a workspace cannot set it, only a person can\n' +
            `  at ${layer}:3:1\n` +
            `  fix: take it out; if you want it: cordon config set --user-workspace sandbox.mode ${mode}`,
        )
      })
  test('also when a person overrules it, and when it is not the only problem', () => {
    const file = text('workspace', 'sandbox = { mode = "off", modus = 1 }\n')
    expect(messageOf(file, text('command-line', 'sandbox.mode = "enforce"\n')).match(/^error: .*/gm)).toEqual(
      [
        'error: `sandbox.mode`: the files of a workspace cannot set it, only a person can',
        'error: unknown key `sandbox.modus`',
      ],
    )
  })
  test('a person can, in every layer that is theirs', () => {
    const sealed: Source = {
      layer: 'conversation',
      label: 'c',
      key: [],
      value: { sandbox: { mode: 'off' } },
      sealed: true,
    }
    const persons = (['user', 'user-workspace', 'environment', 'command-line', 'flags'] as const).map(
      (layer) => text(layer, 'sandbox.mode = "off"\n'),
    )
    for (const source of [...persons, sealed]) expect(mergeSources([source]).config.sandbox.mode).toBe('off')
  })
})

describe('SPEC 2.1 files can only lower sandbox.limits', () => {
  const limit = (layer: LayerName, value: number): Source =>
    text(layer, `[sandbox.limits]\nprocesses = ${value}\n`)
  const processes = (...sources: Source[]): unknown => mergeSources(sources).config.sandbox.limits.processes

  test("below the sandbox's own", () => {
    expect(processes(limit('workspace', 64), limit('directory', 32))).toBe(32)
    expect(processes(limit('workspace', 1024))).toBe(1024)
    expect(messageOf(limit('workspace', 1025))).toBe(
      'error: `sandbox.limits.processes`: the files of a workspace can only lower it, and 1025 is more than 1024 (built-in defaults)\n' +
        '  at workspace:2:1\n' +
        '  fix: write at most 1024, or raise it yourself: cordon config set --user-workspace sandbox.limits.processes 1025',
    )
  })

  test('below what the person says, in whatever layer', () => {
    expect(messageOf(limit('user', 100), limit('directory', 101))).toBe(
      'error: `sandbox.limits.processes`: the files of a workspace can only lower it, and 101 is more than 100 (user:2:1)\n' +
        '  at directory:2:1\n' +
        '  fix: write at most 100, or raise it yourself: cordon config set --user-workspace sandbox.limits.processes 101',
    )
    expect(processes(limit('user', 100), limit('workspace', 2000), limit('user-workspace', 3000))).toBe(3000)
    expect(processes(limit('user', 3000), limit('workspace', 2000))).toBe(2000)
  })

  test('a file cannot make room for another file', () => {
    expect(messageOf(limit('user', 10), limit('workspace', 5), limit('directory', 11))).toContain(
      '11 is more than 10',
    )
  })

  test('what nobody limits can be limited by files', () => {
    expect(
      mergeSources([text('workspace', 'sandbox.limits.cpu_secs = 9\n')]).config.sandbox.limits.cpu_secs,
    ).toBe(9)
  })
})

test('SPEC 2.1 files can add to sandbox.sensitive, and nobody can replace it', () => {
  const more = text('workspace', 'sandbox.sensitive = ["a"]\n')
  const first = text('directory', 'sandbox.sensitive = { strategy = "prepend", value = ["b"] }\n')
  expect(
    mergeSources([text('user', 'sandbox.sensitive = ["u"]\n'), more, first]).config.sandbox.sensitive,
  ).toEqual(['b', 'u', 'a'])
  expect(messageOf(text('workspace', 'sandbox.sensitive = { strategy = "replace", value = [] }\n'))).toBe(
    'error: `sandbox.sensitive` can be extended, not replaced\n  at workspace:1:9\n  fix: write strategy = "append", or leave the strategy out',
  )
})

describe("SPEC 2.1 files do not decide what runs under a name that is a person's, with what the person gave it", () => {
  const mine = text(
    'user',
    '[providers.mcp.github]\ncommand = "gh-mcp"\narguments = ["stdio"]\n[[providers.mcp.github.access.env]]\nname = "TOKEN"\nread = true\n' +
      '[conversation.tools.deploy]\nsource = "local"\ncommand = ["deploy"]\n',
  )
  const granting = text(
    'user',
    '[conversation.tools.granted]\nsource = "local"\n[[conversation.tools.granted.access.net]]\nhost = "a.example"\nallow = true\n',
  )
  const refused = (key: string, line: number, at: string): string =>
    `error: \`${key}\`: the files of a workspace cannot say what is started under this name, because your own configuration gives it something (${at})\n` +
    `  at workspace:${line}:1\n` +
    '  fix: take it out, or give it a name of its own'

  for (const [toml, message] of [
    [
      '[providers.mcp.github]\ncommand = "./tools/gh.sh"\n',
      refused('providers.mcp.github.command', 2, 'user:1:1'),
    ],
    [
      '[providers.mcp.github]\narguments = ["--proxy", "evil"]\n',
      refused('providers.mcp.github.arguments', 2, 'user:1:1'),
    ],
    [
      '[conversation.tools.deploy]\ncommand = ["./evil"]\n',
      refused('conversation.tools.deploy.command', 2, 'user:7:1'),
    ],
    [
      '[conversation.tools.deploy]\nsource = "mcp.evil.tool"\n',
      refused('conversation.tools.deploy.source', 2, 'user:7:1'),
    ],
    [
      '[conversation.tools.granted]\ncommand = ["./evil"]\n',
      refused('conversation.tools.granted.command', 2, 'user:1:1'),
    ],
  ] as const)
    test(toml.replaceAll('\n', ' '), () => {
      const own = toml.includes('granted') ? granting : mine
      expect(messageOf(own, text('workspace', toml))).toContain(message)
    })

  test('also where the person speaks later', () => {
    const theirs = text('workspace', '[providers.mcp.a]\ncommand = "a"\narguments = ["b"]\n')
    expect(messageOf(theirs, text('user-workspace', '[providers.mcp.a]\ncommand = "mine"\n'))).toContain(
      'cannot say what is started',
    )
  })

  test('what says the same, adds access, or defines what a person then grants something, is fine', () => {
    for (const [person, toml] of [
      [mine, '[providers.mcp.github]\ncommand = "gh-mcp"\narguments = ["stdio"]\n'],
      [mine, '[[providers.mcp.github.access.net]]\nhost = "a.example"\nallow = true\n'],
      [
        text('user-workspace', '[[providers.mcp.own.access.net]]\nhost = "a.example"\nallow = true\n'),
        '[providers.mcp.own]\ncommand = "./own"\n',
      ],
      [
        text('user', '[conversation.tools.check]\nrun = "unattended"\n'),
        '[conversation.tools.check]\nsource = "local"\ncommand = ["./check"]\n',
      ],
    ] as const)
      expect(messageOf(person, text('workspace', toml))).toBe('no error')
  })
})
