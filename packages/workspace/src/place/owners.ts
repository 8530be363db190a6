import { readFileSync } from 'node:fs'
import { type Surroundings } from './surroundings.ts'

/** What `stat` says about who can change something. */
export interface Ownership {
  readonly uid: number
  readonly gid: number
  readonly mode: number
}

/** Why something is in the hands of others (SPEC 2.1): another user owns it, or others may write it. */
export type Stranger =
  | { readonly kind: 'owner'; readonly uid: number }
  | { readonly kind: 'group'; readonly gid: number }
  | { readonly kind: 'everybody' }

/** Undefined when nobody but trusted users can change it. Decision 0132. */
export function strangerIn({ uid, gid, mode }: Ownership, around: Surroundings): Stranger | undefined {
  if (around.uid === undefined) return undefined
  if (!isTrustedUser(uid, around)) return { kind: 'owner', uid }
  if ((mode & 0o002) !== 0) return { kind: 'everybody' }
  return (mode & 0o020) !== 0 && !isPrivateGroup(gid, readAccounts(), around)
    ? { kind: 'group', gid }
    : undefined
}

/** Root could do anything anyway; under sudo the person is who called it; and one more can be named. */
export function isTrustedUser(user: number, { uid, env }: Surroundings): boolean {
  if (uid === undefined || user === uid || user === 0) return true
  return (uid === 0 && env['SUDO_UID'] === String(user)) || env['CORDON_TRUST_UID'] === String(user)
}

/** The machine's own lists, as text; empty when they cannot be read. */
export interface Accounts {
  readonly passwd: string
  readonly group: string
}

/**
 * A group that only one trusted user is in, as far as the machine's own lists tell: it has their name, is the primary group
 * of them alone, and lists nobody else. What is not in the lists (a directory service) is nobody's own.
 */
export function isPrivateGroup(gid: number, accounts: Accounts, around: Surroundings): boolean {
  const users = readTable(accounts.passwd).filter((fields) => fields[3] === String(gid))
  const groups = readTable(accounts.group).filter((fields) => fields[2] === String(gid))
  const [user, group] = [users[0], groups[0]]
  if (!user || !group || users.length > 1 || groups.length > 1) return false
  const members = (group[3] ?? '').split(',').filter((member) => member !== '')
  return (
    isTrustedUser(Number(user[2]), around) &&
    group[0] === user[0] &&
    members.every((member) => member === user[0])
  )
}

const readTable = (text: string): string[][] => text.split('\n').map((line) => line.split(':'))

const readAccounts = (): Accounts => ({ passwd: textOf('/etc/passwd'), group: textOf('/etc/group') })

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
