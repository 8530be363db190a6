import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { JSX } from 'preact'
import { ApiError } from '../api.ts'
import { messageOf, Notice, sentence } from '../parts/load.tsx'
import { focusNext, goTo } from '../router.ts'
import { checkLink, register } from '../session.ts'

/**
 * The secret is taken out of the address at once, so that it is in no history and no screenshot. This tab keeps it until it
 * was used, so that the page can be loaded again.
 */
const KEPT = 'cordon-link'
const inAddress = location.pathname === '/console/link' ? location.hash.slice(1) : ''
if (inAddress !== '') {
  sessionStorage.setItem(KEPT, inAddress)
  history.replaceState(null, '', location.pathname)
}
const secret = location.pathname === '/console/link' ? (sessionStorage.getItem(KEPT) ?? '') : ''

/** SPEC 7.7: the one-time link of the command line makes a passkey. */
export function Link(): JSX.Element {
  useEffect(focusNext, [])
  const name = useSignal('')
  const busy = useSignal(false)
  const error = useSignal<string | undefined>(undefined)
  /** A link is good once: one that was used shows no form, which could only fail. */
  const form = useSignal<'asking' | 'shown' | 'useless'>('asking')
  const fail = (thrown: unknown): void => {
    error.value = messageOf(thrown)
    form.value = thrown instanceof ApiError && thrown.code === 'link_used' ? 'useless' : 'shown'
  }
  useEffect(() => {
    if (secret !== '') checkLink(secret).then(() => (form.value = 'shown'), fail)
  }, [])
  const make = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (busy.value) return
    busy.value = true
    error.value = undefined
    try {
      await register(secret, name.value.trim())
      sessionStorage.removeItem(KEPT)
      goTo('/console/')
    } catch (thrown) {
      fail(thrown)
    }
    busy.value = false
  }
  return (
    <main class="door" tabIndex={-1}>
      <img src="/console/assets/icon.svg" alt="" width="56" height="56" />
      <h1>Make a passkey</h1>
      {secret === '' ? (
        <Notice kind="warn" title="This link is not complete">
          <p>
            Open the whole line that <code>cordon provider passkey add</code> printed.
          </p>
        </Notice>
      ) : (
        form.value === 'shown' && (
          <form onSubmit={(event) => void make(event)}>
            <p class="quiet">
              It signs you in here, and signs for what agents may do only with you. This device keeps it.
            </p>
            <label>
              Name it, as the audit trail shall call it
              <input
                maxLength={64}
                required
                pattern=".*\S.*"
                title="a name, such as: Ada’s laptop"
                ref={(field) => field?.focus()}
                placeholder="Ada’s laptop"
                value={name.value}
                onInput={(event) => (name.value = event.currentTarget.value)}
              />
            </label>
            <button class="primary large" aria-disabled={busy.value}>
              {busy.value ? 'Waiting for your device…' : 'Make a passkey'}
            </button>
          </form>
        )
      )}
      {error.value !== undefined && <Notice kind="bad" title={sentence(error.value)} />}
    </main>
  )
}
