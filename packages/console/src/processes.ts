/**
 * The processes of the provider that this browser has heard of, the newest first: a request is signed for all of them, as
 * there may be several behind one name. Whoever tells us one gets signatures that count there and nowhere else: of a
 * provider that starts later nobody knows the id yet.
 */
const KNOWN = 'cordon-processes'
export const MOST_PROCESSES = 8

/** Whatever else is there, somebody put there who had the provider's port: it would make every request too large. */
export const knownProcesses = (): string =>
  (localStorage.getItem(KNOWN) ?? '').split(' ').filter(isId).slice(0, MOST_PROCESSES).join(' ')

const isId = (text: string): boolean => /^[\w-]{1,64}$/.test(text)

export function noteProcess({ headers }: Response): void {
  const id = headers.get('x-cordon-process') ?? ''
  const others = knownProcesses()
    .split(' ')
    .filter((each) => each !== id)
  if (!isId(id)) return
  const known = [id, ...others].slice(0, MOST_PROCESSES).join(' ').trim()
  try {
    localStorage.setItem(KNOWN, known)
  } catch {
    localStorage.clear() // he filled it; nothing else in it is ours
    localStorage.setItem(KNOWN, known)
  }
}
