import { expect, test } from 'vitest'
import { loadPolicies, type LoadedPolicies } from '../../src/cedar/load.ts'
import { decide } from '../../src/cedar/decide.ts'
import { type PolicyRequest } from '../../src/cedar/request.ts'

const DELETE = 'principal, action == Action::"/filesystem/file/delete", resource'

function loaded(text: string): LoadedPolicies {
  const result = loadPolicies(text)
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.problems, undefined, 2))
  return result
}

/** A fragment as people write it: `in` on strings, and an attribute that may be missing. */
const FRAGMENT = `permit (
  principal,
  action in [Action::"/filesystem/file/read", Action::"/filesystem/dir/list",
             Action::"/filesystem/dir/tree"],
  resource
);

permit (
  principal,
  action == Action::"/filesystem/file/write",
  resource
) when {
  resource.extension in [".ts", ".tsx", ".md"]
};

forbid (
  principal,
  action == Action::"/filesystem/file/delete",
  resource
) when { !context.cosigner };`

test('SPEC 7.4 a fragment as people write it is refused, with the text that was meant', () => {
  expect(loadPolicies(FRAGMENT)).toEqual({
    kind: 'refused',
    problems: [
      {
        code: 'policy_invalid',
        statement: 'line 8',
        line: 8,
        message:
          'unexpected type: expected Set<__cedar::internal::AnyEntity>, or __cedar::internal::AnyEntity but saw Set<String>; try using `contains`, `containsAny`, or `containsAll` to examine the contents of a set; ' +
          'unexpected type: expected __cedar::internal::AnyEntity but saw String; try using `contains`, `containsAny`, or `containsAll` to examine the contents of a set',
        corrected: `permit (
  principal,
  action == Action::"/filesystem/file/write",
  resource
)
when { [".ts", ".tsx", ".md"].contains(resource.extension) };`,
      },
      {
        code: 'policy_invalid',
        statement: 'line 16',
        line: 16,
        message:
          "unable to guarantee safety of access to optional attribute `cosigner`; try testing for the attribute's presence with `context has cosigner && ..`",
        corrected: `forbid (
  principal,
  action == Action::"/filesystem/file/delete",
  resource
)
when { !((context has cosigner) && context.cosigner) };`,
      },
    ],
    corrected: `permit (
  principal,
  action in [Action::"/filesystem/file/read", Action::"/filesystem/dir/list",
             Action::"/filesystem/dir/tree"],
  resource
);

permit (
  principal,
  action == Action::"/filesystem/file/write",
  resource
)
when { [".ts", ".tsx", ".md"].contains(resource.extension) };

forbid (
  principal,
  action == Action::"/filesystem/file/delete",
  resource
)
when { !((context has cosigner) && context.cosigner) };`,
  })
})

test('the corrected text of the fragment does what was meant', () => {
  const refused = loadPolicies(FRAGMENT)
  const policies = loaded(refused.kind === 'refused' ? (refused.corrected ?? '') : '')
  const ask = (command: PolicyRequest['command'], path: string, cosigned?: boolean): string =>
    decide(policies, {
      app: 'a',
      agent: 'b',
      command,
      resource: { path, isDirectory: false, exists: true, size: 1 },
      ...(cosigned === undefined ? {} : { cosigned }),
    }).decision
  expect(ask('/filesystem/file/read', '/x/a.py')).toBe('allow')
  expect(ask('/filesystem/file/write', '/x/a.ts')).toBe('allow')
  expect(ask('/filesystem/file/write', '/x/a.py')).toBe('deny')
  expect(ask('/filesystem/file/delete', '/x/a.ts')).toBe('deny')
})

const fixed = (condition: string): string => `forbid (
  principal,
  action == Action::"/filesystem/file/delete",
  resource
)
${condition};`
const GUARDED = 'when { !((context has cosigner) && context.cosigner) }'
const SKIPPED =
  'without `context.cosigner` it does not apply, and that attribute is missing until a person has signed'

/** A condition of a `forbid` on delete; what is wrong with it; what it is corrected to. */
const FORBIDS: [
  condition: string,
  code: string,
  message: string | undefined,
  corrected: string | undefined,
][] = [
  ['when { !context.cosigner }', 'policy_invalid', undefined, fixed(GUARDED)],
  [
    'when { context.cosigner == false }',
    'policy_invalid',
    undefined,
    fixed('when { ((context has cosigner) && context.cosigner) == false }'),
  ],
  [
    'unless { context.cosigner }',
    'policy_invalid',
    undefined,
    fixed('unless { (context has cosigner) && context.cosigner }'),
  ],
  ['when { context has cosigner && !context.cosigner }', 'policy_skippable', SKIPPED, fixed(GUARDED)],
  ['when { context has cosigner } when { !context.cosigner }', 'policy_skippable', SKIPPED, fixed(GUARDED)],
  [
    'when { if context has cosigner then !context.cosigner else false }',
    'policy_skippable',
    SKIPPED,
    fixed(GUARDED),
  ],
  [
    'unless { !(context has cosigner) || context.cosigner }',
    'policy_invalid',
    undefined,
    fixed('unless { (context has cosigner) && context.cosigner }'),
  ],
  [
    'when { resource.size > 9 && context has cosigner && context.cosigner == false }',
    'policy_skippable',
    SKIPPED,
    fixed('when { (resource.size > 9) && (((context has cosigner) && context.cosigner) == false) }'),
  ],
  [
    'when { resource.extension in ".ts" }',
    'policy_invalid',
    undefined,
    fixed('when { resource.extension == ".ts" }'),
  ],
  [
    'when { resource has owner && resource.owner == "x" }',
    'policy_invalid',
    'policy is impossible: the policy expression evaluates to false for all valid requests',
    undefined,
  ],
  ['when { resource.owner == "x" }', 'policy_invalid', undefined, undefined],
  [
    'when { resource in Directory::"/srv/ws/" }',
    'policy_invalid',
    '/srv/ws/ never matches: the provider writes paths absolute and without `.`, `..` or a `/` at the end',
    undefined,
  ],
  [
    'when { resource.extension == "ts" }',
    'policy_invalid',
    'ts never matches: an extension is written with its dot, as .ts',
    fixed('when { resource.extension == ".ts" }'),
  ],
  [
    'unless { ["ts", ".md"].contains(resource.extension) && "md" != resource.extension }',
    'policy_invalid',
    'ts, md never match: an extension is written with its dot, as .ts',
    fixed('unless { [".ts", ".md"].contains(resource.extension) && (".md" != resource.extension) }'),
  ],
  [
    'when { resource.extension in ["ts"] }',
    'policy_invalid',
    undefined,
    fixed('when { [".ts"].contains(resource.extension) }'),
  ],
  [
    'when { resource.extension == ".tar.gz" }',
    'policy_invalid',
    '.tar.gz never matches: an extension begins at the last dot of the name, as .gz',
    undefined,
  ],
  [
    'when { [context].contains(context) }',
    'policy_skippable',
    'it uses `context` as a whole, so a missing attribute could switch it off',
    undefined,
  ],
]

test.each(FORBIDS)('SPEC 7.4 refused: forbid … %s', (condition, code, message, corrected) => {
  const result = loadPolicies(`forbid (${DELETE}) ${condition};`)
  expect(result.kind).toBe('refused')
  if (result.kind !== 'refused') return
  expect(result.problems[0]).toMatchObject({ code, corrected, line: 1, statement: 'line 1' })
  if (message !== undefined) expect(result.problems[0]?.message).toBe(message)
  expect(result.corrected).toBe(corrected)
  if (corrected !== undefined) loaded(corrected)
})

test.each([
  'unless { context has cosigner && context.cosigner }',
  'when { !(context has cosigner && context.cosigner) }',
  'unless { context has cosigner }',
  'when { resource.size > 10 } unless { context has cosigner && context.cosigner }',
  'when { resource.extension == ".ts" && resource in Directory::"/srv/ws" }',
  'when { context has cosigner && context.cosigner || resource.size > 1 }',
  'when { ["", ".env", "."].contains(resource.extension) || resource.name == "ts" }',
])('accepted: forbid … %s', (condition) => {
  loaded(`forbid (${DELETE}) ${condition};`)
})

test.each([
  ['permit(principal, action, resource', 'policy_syntax'],
  ['permit(principal == ?principal, action, resource);', 'policy_syntax'],
  ['permit(principal, action == Action::"/filesystem/file/reed", resource);', 'policy_invalid'],
  ['permit(principal == User::"root", action, resource);', 'policy_invalid'],
  ['permit(principal, action, resource) when { resource.path == 3 };', 'policy_invalid'],
  ['permit(principal, action, resource) when { context.destination.path like "/x/*" };', 'policy_invalid'],
  ['permit(principal, action, resource in Directory::"srv");', 'policy_invalid'],
  [' '.repeat(256 * 1024 + 1), 'policy_too_large'],
])('refused: %j', (text, code) => {
  const result = loadPolicies(text)
  expect(result.kind === 'refused' && result.problems.map((problem) => problem.code)).toEqual([code])
})

test('a syntax error is said with its line', () => {
  expect(loadPolicies('permit(principal, action, resource);\n\npermit(principal action, resource);')).toEqual(
    {
      kind: 'refused',
      problems: [
        {
          code: 'policy_syntax',
          statement: undefined,
          line: 3,
          message: 'unexpected token `action`',
          corrected: undefined,
        },
      ],
      corrected: undefined,
    },
  )
})

/**
 * Decision 0163: each of these overflows the stack of Cedar's WebAssembly and leaves it damaged, so that every
 * later decision in the process fails. They must not get there.
 */
const inCondition = (body: string): string => `permit(principal, action, resource) when { ${body} };`
test.each([
  ['brackets', inCondition('('.repeat(20_000) + 'true' + ')'.repeat(20_000))],
  ['brackets of comments', inCondition('( // )\n'.repeat(5000) + 'true' + ')'.repeat(5000))],
  ['sets', inCondition('['.repeat(500) + ']'.repeat(500) + ' == 1')],
  ['and', inCondition(`${'true && '.repeat(20_000)}true`)],
  ['attributes', inCondition(`resource${'.a'.repeat(30_000)}`)],
  ['else', inCondition(`${'if true then true else '.repeat(9000)}true`)],
  ['not', inCondition(`${'!'.repeat(60_000)}true`)],
  ['a set of many', inCondition(`[${'"a", '.repeat(20_000)}"b"].contains(resource.extension)`)],
  ['and, as many as are let through', inCondition(`${'true && '.repeat(200)}true`)],
])('a policy too complex for Cedar is refused before it damages it: %s', (_, text) => {
  const result = loadPolicies(text)
  expect(result.kind === 'refused' && result.problems.map(({ code, message }) => [code, message])).toEqual([
    ['policy_too_large', 'it has a statement too complex for Cedar; write several'],
  ])
  loaded('permit(principal, action, resource);')
})

test('statements are named by their @id, or numbered in the order of the text', () => {
  const many = Array.from(
    { length: 12 },
    (_, i) => `permit(principal, action, resource) when { resource.size == ${i} };`,
  )
  const { statements, version } = loaded(
    `@id("first") permit(principal, action, resource);\n${many.join('\n')}`,
  )
  expect(statements.map(({ id, line }) => [id, line])).toEqual([
    ['first', 1],
    ...many.map((_, i) => [`line ${i + 2}`, i + 2]),
  ])
  expect(statements[11]?.text).toBe(many[10])
  expect(version).toMatch(/^[0-9a-f]{64}$/)
})

/** Decided on in Cedar's JSON form, whose numbers are those of JavaScript: beyond these another one would be compared. */
test.each([
  'resource.size + 9007199254740993 == resource.size + 9007199254740992',
  'resource.size < 9223372036854775807',
  'resource.size > -9007199254740992',
  '[1, 9007199254740992].contains(resource.size)',
  'if resource.size > 9007199254740992 then true else false',
])('SPEC 7.4 a number that is not decided on exactly is refused: %s', (condition) => {
  expect(
    loadPolicies(
      `permit(principal, action, resource);\n@id("big") permit(principal, action, resource) when { ${condition} };`,
    ),
  ).toEqual({
    kind: 'refused',
    problems: [
      {
        code: 'policy_invalid',
        statement: 'big',
        line: 2,
        message:
          'it has a number beyond 9007199254740991, which would be compared as another one; a smaller one does as well, since no file is larger',
        corrected: undefined,
      },
    ],
    corrected: undefined,
  })
})

test('the largest number that is decided on exactly is accepted', () => {
  loaded(
    'permit(principal, action, resource) when { resource.size < 9007199254740991 && resource.size > -9007199254740991 };',
  )
})

test.each([
  ['/ws/.env', '.env'],
  ['/ws/x.env', '.env'],
  ['/ws/.env.local', '.local'],
  ['/ws/..env', '.env'],
  ['/ws/Makefile', ''],
  ['/ws/a.', '.'],
])('SPEC 7.4 the extension of %s is %j, with its dot', (path, extension) => {
  const policies = loaded(
    `permit(principal, action, resource) when { resource.extension == ${JSON.stringify(extension)} };`,
  )
  const resource = { path, isDirectory: false, exists: true, size: 1 }
  expect(
    decide(policies, { app: 'a', agent: 'b', command: '/filesystem/file/read', resource }).decision,
  ).toBe('allow')
})

const KEY =
  'it is about one key, which can delegate to another one that it is not about; `principal in App::"…"` is about all of them'
test.each([
  ['forbid (principal == Agent::"did:key:z", action, resource);', [KEY]],
  ['forbid (principal in Agent::"did:key:z", action, resource);', [KEY]],
  ['forbid (principal, action, resource) when { principal == Agent::"did:key:z" };', [KEY]],
  ['forbid (principal, action, resource) unless { !(Agent::"did:key:z" == principal) };', [KEY]],
  [
    'forbid (principal, action, resource) when { principal in [Agent::"did:key:y", Agent::"did:key:z"] };',
    [KEY],
  ],
  ['forbid (principal, action, resource) unless { principal == Agent::"did:key:z" };', []],
  ['forbid (principal, action, resource) when { principal != Agent::"did:key:z" };', []],
  ['forbid (principal in App::"a", action, resource);', []],
  ['permit (principal == Agent::"did:key:z", action, resource);', []],
])('what a delegate dodges is accepted, with a warning: %s', (text, messages) => {
  const { warnings } = loaded(`\n${text}`)
  expect(warnings).toEqual(messages.map((message) => ({ statement: 'line 2', line: 2, message })))
})
