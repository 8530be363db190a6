/** The expressions of Cedar's JSON form, as far as the lint looks into them. */
type Expression = { readonly [operator: string]: unknown }

/** SPEC 7.4: the attribute that may be missing. */
const OPTIONAL = 'cosigner'

const CONTEXT = { Var: 'context' } as const
const PRESENT = { has: { left: CONTEXT, attr: OPTIONAL } } as const
const ACCESS = { '.': { left: CONTEXT, attr: OPTIONAL } } as const
const GUARDED = { '&&': { left: PRESENT, right: ACCESS } } as const
const literal = (value: boolean): Expression => ({ Value: value })

/** Rewrites from the leaves up. */
function rewrite(expression: unknown, change: (node: Expression) => unknown): unknown {
  if (Array.isArray(expression)) return expression.map((each) => rewrite(each, change))
  if (typeof expression !== 'object' || expression === null) return expression
  if ('Value' in expression) return expression // data, whatever it looks like
  const parts = Object.entries(expression).map(([name, part]) => [name, rewrite(part, change)] as const)
  return change(Object.fromEntries(parts))
}

const partsOf = (node: Expression, operator: string): Record<string, unknown> | undefined =>
  node[operator] as Record<string, unknown> | undefined

const isAbout = (part: Record<string, unknown> | undefined): boolean =>
  part !== undefined &&
  (part['left'] as Expression | undefined)?.['Var'] === 'context' &&
  [part['attr']].flat().join('.') === OPTIONAL

const isPresence = (node: Expression): boolean => isAbout(partsOf(node, 'has'))
const isAccess = (node: Expression): boolean => isAbout(partsOf(node, '.'))

/** What the expression comes to when the attribute is missing, or is there and false. */
export const assuming = (expression: unknown, attribute: 'missing' | 'false'): unknown =>
  rewrite(expression, (node) => {
    if (isPresence(node)) return literal(attribute === 'false')
    if (isAccess(node)) return literal(false)
    return simplify(node)
  })

/** Uses the attribute in the one way in which missing is the same as false. */
export const withGuards = (expression: unknown): unknown =>
  rewrite(expression, (node) => {
    if (isPresence(node)) return literal(true)
    if (isAccess(node)) return GUARDED
    return simplify(node)
  })

/** `X in [".ts"]` and `X in ".ts"`, which Cedar knows for entities only, as what was meant. */
export const withContains = (expression: unknown): unknown =>
  rewrite(expression, (node) => {
    const { left, right } = partsOf(node, 'in') ?? {}
    const of = (right as Expression | undefined) ?? {}
    if (typeof of['Value'] === 'string') return { '==': { left, right } }
    const set = of['Set']
    if (!Array.isArray(set) || !set.every((each: Expression) => typeof each['Value'] === 'string'))
      return node
    return { contains: { left: right, right: left } }
  })

/** Every text that an extension is compared with, as `change` has it. */
const mapExtensions = (expression: unknown, change: (text: string) => string): unknown =>
  rewrite(expression, (node) => {
    const changed = (part: unknown): unknown => {
      const value = valueOf(part ?? {})
      return typeof value === 'string' ? { Value: change(value) } : part
    }
    for (const operator of ['==', '!=']) {
      const { left, right } = partsOf(node, operator) ?? {}
      if (isExtension(left)) return { [operator]: { left, right: changed(right) } }
      if (isExtension(right)) return { [operator]: { left: changed(left), right } }
    }
    const { left, right } = partsOf(node, 'contains') ?? {}
    const set = (left as Expression | undefined)?.['Set']
    if (!isExtension(right) || !Array.isArray(set)) return node
    return { contains: { left: { Set: set.map(changed) }, right } }
  })

/** `resource.extension`, `context.destination.extension`. */
const isExtension = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && partsOf(part as Expression, '.')?.['attr'] === 'extension'

export function extensionLiterals(expression: unknown): string[] {
  const found: string[] = []
  mapExtensions(expression, (text) => {
    found.push(text)
    return text
  })
  return found
}

/** `resource.extension == "ts"`, which is never so, as what was meant. */
export const withDots = (expression: unknown): unknown =>
  mapExtensions(expression, (text) => (/^(?:\.|$)/.test(text) ? text : `.${text}`))

/** Whether it holds for one agent because it is that agent: `principal == Agent::"…"`, unless that is negated. */
export function singlesOutAgent(expression: unknown, negated = false): boolean {
  if (Array.isArray(expression)) return expression.some((each) => singlesOutAgent(each, negated))
  if (typeof expression !== 'object' || expression === null) return false
  const node = expression as Expression
  const { left, right } = partsOf(node, '==') ?? partsOf(node, 'in') ?? {}
  const sides = [left, right] as (Expression | undefined)[]
  if (!negated && sides.some((side) => side?.['Var'] === 'principal') && sides.some(namesAgent)) return true
  return Object.entries(node).some(([operator, part]) =>
    singlesOutAgent(part, operator === '!' ? !negated : negated),
  )
}

function namesAgent(side: Expression | undefined): boolean {
  const all = side?.['Set'] ?? [side]
  return (all as unknown[]).some((each) => {
    const { __entity: entity } = (valueOf(each ?? {}) ?? {}) as { __entity?: { type?: unknown } }
    return entity?.type === 'Agent'
  })
}

/** The whole context as one value hides from every other check which attributes are used. */
export function usesWholeContext(expression: unknown): boolean {
  let uses = 0
  rewrite(expression, (node) => {
    if (node['Var'] === 'context') uses++
    const part = partsOf(node, 'has') ?? partsOf(node, '.')
    if ((part?.['left'] as Expression | undefined)?.['Var'] === 'context') uses--
    return node
  })
  return uses > 0
}

function simplify(node: Expression): unknown {
  const and = partsOf(node, '&&')
  if (and) return connect(and, false) ?? node
  const or = partsOf(node, '||')
  if (or) return connect(or, true) ?? node
  const not = partsOf(node, '!')
  if (not) return isLiteral(not['arg']) ? literal(!valueOf(not['arg'])) : node
  const choice = partsOf(node, 'if-then-else')
  if (choice && isLiteral(choice['if'])) return valueOf(choice['if']) ? choice['then'] : choice['else']
  const equal = partsOf(node, '==') ?? partsOf(node, '!=')
  if (equal && isLiteral(equal['left']) && isLiteral(equal['right']))
    return literal((valueOf(equal['left']) === valueOf(equal['right'])) === '==' in node)
  return node
}

/** `decides` is the value that decides alone: false for `&&`, true for `||`. */
function connect({ left, right }: Record<string, unknown>, decides: boolean): unknown {
  if (isLiteral(left)) return valueOf(left) === decides ? left : right
  if (isLiteral(right)) return valueOf(right) === decides ? right : left
  return undefined
}

const valueOf = (expression: unknown): unknown => (expression as Expression)['Value']
const isLiteral = (expression: unknown): boolean => typeof valueOf(expression ?? {}) === 'boolean'
export const isTrue = (expression: unknown): boolean => valueOf(expression ?? {}) === true
