import fc from 'fast-check'

/** Random TOML that is valid by construction, with everything that could lead a scanner astray. */

const bare = fc.stringMatching(/^[a-z][A-Za-z0-9_-]{0,5}$/)
const quoted = fc
  .string({ maxLength: 5 })
  .map((text) => JSON.stringify(text.toWellFormed()).replaceAll('\u007f', '\\u007f'))
const name = fc.oneof({ weight: 4, arbitrary: bare }, quoted)
const blank = fc.constantFrom('', ' ', '\t', '  ')
const comment = fc.stringMatching(/^[ -~]{0,12}$/).map((text) => `#${text}`)

const scalar = fc.oneof(
  fc.integer({ min: -1e6, max: 1e6 }).map(String),
  fc.constantFrom(
    'true',
    'false',
    '1.5',
    '-0.0',
    'inf',
    '0xff',
    '1_000',
    '1979-05-27 07:32:00',
    '07:32:00',
    '1979-05-27',
  ),
  quoted,
  fc.stringMatching(/^[ -&(-~]{0,8}$/).map((text) => `'${text}'`),
  fc.constantFrom(
    '"""a\n"b" # no\n"""',
    '"""x"""""',
    "'''it's [ { \n'''",
    '"""\\" # """',
    '"# no [[x]]"',
    "'= {'",
  ),
)
const gap = fc.oneof(
  blank,
  fc.constant('\n  '),
  comment.map((text) => ` ${text}\n`),
)

const { value } = fc.letrec<{ value: string; list: string; table: string }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, tie('list'), tie('table')),
  list: fc
    .tuple(fc.array(fc.tuple(gap, tie('value'), gap), { maxLength: 3 }), fc.boolean(), gap)
    .map(
      ([items, comma, end]) =>
        `[${items.map((parts) => parts.join('')).join(',')}${comma && items.length > 0 ? ',' : ''}${end}]`,
    ),
  table: fc
    .uniqueArray(fc.tuple(bare, tie('value')), { maxLength: 3, selector: ([key]) => key })
    .map((fields) => `{ ${fields.map(([key, inner]) => `${key} = ${inner}`).join(', ')} }`),
}))

const line = fc
  .tuple(blank, name, fc.option(bare), blank, value, fc.option(comment))
  .map(([indent, key, dotted, space, written, note]) => ({
    key,
    text: `${indent}${key}${dotted === null ? '' : ` . ${dotted}`}${space}=${space}${written}${note === null ? '' : ` ${note}`}`,
  }))
const body = fc
  .uniqueArray(line, { maxLength: 4, selector: ({ key }) => keyOf(key) })
  .chain((lines) =>
    fc
      .array(fc.oneof(comment, fc.constant('')), { minLength: lines.length + 1, maxLength: lines.length + 1 })
      .map((between) => between.flatMap((one, i) => [one, ...(lines[i] ? [lines[i].text] : [])])),
  )

/** Tables are called `tN`, so that they clash with no key. */
const section = fc.tuple(
  fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 3 }),
  fc.boolean(),
  fc.option(comment),
  body,
)

export const tomlDocument: fc.Arbitrary<string> = fc
  .tuple(body, fc.array(section, { maxLength: 5 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
  .map(([first, sections, newline, final]) => {
    const lines = [...first]
    const used = new Set<string>()
    for (const [i, [steps, isList, note, inner]] of sections.entries()) {
      const path = steps.map((step) => `T${step}`).join('.')
      const id = isList ? `L${i % 2}` : path
      if (!isList && used.has(id)) continue
      used.add(id)
      lines.push(`${isList ? `[[ lists.${id} ]]` : `[${path}]`}${note === null ? '' : ` ${note}`}`, ...inner)
    }
    const text = lines.join('\n') + (final ? '\n' : '')
    return newline === '\n' ? text : text.replaceAll('\n', newline)
  })

const keyOf = (key: string): string => (key.startsWith('"') ? (JSON.parse(key) as string) : key)
