import { base32 } from '../place/identity.ts'

/** 16 characters: the time in milliseconds, then chance. Sorted as text they are sorted by time. */
export type ConversationId = string & { readonly __brand: 'ConversationId' }

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

export const isConversationId = (text: string): text is ConversationId =>
  /^[0-9a-hjkmnp-tv-z]{16}$/.test(text)

export function newConversationId(now: Date): ConversationId {
  let time = ''
  for (let rest = now.getTime(), i = 0; i < 10; i++, rest = Math.floor(rest / 32))
    time = DIGITS[rest % 32]! + time
  // No secret: it only has to be another one each time, and `node:crypto` would be a twentieth of a start.
  const chance = Uint8Array.from({ length: 6 }, () => Math.random() * 256)
  return (time + base32(chance)) as ConversationId
}

export function createdAt(id: ConversationId): Date {
  let time = 0
  for (const digit of id.slice(0, 10)) time = time * 32 + DIGITS.indexOf(digit)
  return new Date(time)
}
