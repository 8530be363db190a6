/**
 * The processes of the provider that this browser has heard of, the newest first: a request is signed for all of them, as
 * there may be several behind one name. Whoever tells us one gets signatures that count there and nowhere else: of a
 * provider that starts later nobody knows the id yet.
 */
const KNOWN = 'cordon-processes'
export const MOST_PROCESSES = 8

export const knownProcesses = (): string => localStorage.getItem(KNOWN) ?? ''

export function noteProcess({ headers }: Response): void {
  const id = headers.get('x-cordon-process') ?? ''
  const others = knownProcesses()
    .split(' ')
    .filter((each) => each !== id)
  if (/^[\w-]{1,64}$/.test(id))
    localStorage.setItem(KNOWN, [id, ...others].slice(0, MOST_PROCESSES).join(' ').trim())
}
