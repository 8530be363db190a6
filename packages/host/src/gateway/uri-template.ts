/** Longer ones, and with more expressions, are no addresses that anybody wrote. */
const LONGEST = 8192
const MOST_EXPRESSIONS = 64

/**
 * Whether an address could be one of a template's (RFC 6570), to find the server that answers for it. A server writes the
 * template, so the time must not depend on what it wrote: the positions that each part can end at are kept, instead of trying
 * one way after the other. `{name}` stands for one or more characters without `/`; with an operator, for any.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  if (template.length > LONGEST || uri.length > LONGEST) return false
  const parts = template.split(/\{([^{}]*)\}/) // literals at even places, expressions between them
  if (parts.length > 2 * MOST_EXPRESSIONS + 1 || parts.some((part, i) => i % 2 === 0 && /[{}]/.test(part)))
    return false
  let reached = new Uint8Array(uri.length + 1)
  reached[0] = 1
  for (const [i, part] of parts.entries())
    reached = i % 2 === 0 ? afterText(reached, part, uri) : afterExpression(reached, part, uri)
  return reached[uri.length] === 1
}

function afterText(reached: Uint8Array, text: string, uri: string): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(reached.length)
  for (let at = uri.indexOf(text); at >= 0; at = at < uri.length ? uri.indexOf(text, at + 1) : -1)
    if (reached[at] === 1) next[at + text.length] = 1
  return next
}

function afterExpression(reached: Uint8Array, expression: string, uri: string): Uint8Array<ArrayBuffer> {
  const isAny = /^[+#./;?&]/.test(expression)
  const next = new Uint8Array(reached.length)
  let isOpen = false
  for (let at = 0; at < reached.length; at++) {
    if (at > 0 && !isAny && uri[at - 1] === '/') isOpen = false
    if (isOpen || (isAny && reached[at] === 1)) next[at] = 1
    if (reached[at] === 1) isOpen = true
  }
  return next
}
