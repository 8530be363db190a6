import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { messageOf, Notice, sentence } from '../parts/load.tsx'
import { focusNext } from '../router.ts'
import { session, signIn } from '../session.ts'

export function SignIn(): JSX.Element {
  useEffect(focusNext, [])
  const busy = useSignal(false)
  const error = useSignal<string | undefined>(undefined)
  const enter = async (): Promise<void> => {
    if (busy.value) return
    busy.value = true
    error.value = undefined
    try {
      await signIn() // and the page that was asked for shows, at its own address
    } catch (thrown) {
      error.value = messageOf(thrown)
    }
    busy.value = false
  }
  const known = session.value.kind !== 'out' || session.value.hasPasskeys
  const isApproval = location.pathname.startsWith('/approvals/')
  return (
    <main class="door" tabIndex={-1}>
      <img src="/console/assets/icon.svg" alt="" width="56" height="56" />
      <h1>{isApproval ? 'An agent asks for your approval' : 'Cordon console'}</h1>
      {session.value.kind === 'out' && session.value.isTold === false && <NotTold />}
      {known ? (
        <>
          <p class="quiet">
            {isApproval
              ? 'Sign in with your passkey to see what it wants to do.'
              : 'Sign in with your passkey.'}
          </p>
          <button type="button" class="primary large" aria-disabled={busy.value} onClick={() => void enter()}>
            {busy.value ? 'Waiting for your passkey…' : 'Sign in'}
          </button>
        </>
      ) : (
        <p class="quiet">
          Nobody can sign in yet. On the host, <code>cordon provider passkey add</code> prints a link that
          makes the first passkey.
        </p>
      )}
      {error.value !== undefined && <Notice kind="bad" title={sentence(error.value)} />}
      {known && (
        <p class="quiet small">
          Lost it? On the host, <code>cordon provider passkey add</code> prints a link for a new one, and{' '}
          <code>cordon provider passkey rm NAME</code> takes the lost one’s right to sign.
        </p>
      )}
    </main>
  )
}

const NotTold = (): JSX.Element => (
  <Notice kind="plain" title="You are signed out in this browser">
    <p>
      The provider did not answer, so it was not told: it forgets the session by itself, after half an hour.
      Until then nobody can use it. That needs a key that only this browser had, and it is deleted.
    </p>
  </Notice>
)
