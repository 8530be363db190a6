import { effect } from '@preact/signals'
import { type JSX, render } from 'preact'
import { connection, lose, lostBecause, startLive, waiting } from './live.ts'
import { ApprovalPage } from './pages/approval.tsx'
import { Approvals } from './pages/approvals.tsx'
import { Apps } from './pages/apps.tsx'
import { Audit } from './pages/audit.tsx'
import { Link } from './pages/link.tsx'
import { PoliciesPage } from './pages/policies.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Start } from './pages/start.tsx'
import { sentence } from './parts/load.tsx'
import { Text } from './parts/text.tsx'
import { address, startRouter } from './router.ts'
import { loadSession, session, signOut } from './session.ts'

const PAGES: readonly { readonly path: string; readonly name: string; readonly page: () => JSX.Element }[] = [
  { path: '/console/', name: 'Overview', page: Start },
  { path: '/console/approvals', name: 'Approvals', page: Approvals },
  { path: '/console/apps', name: 'Apps', page: Apps },
  { path: '/console/policies', name: 'Policies', page: PoliciesPage },
  { path: '/console/audit', name: 'Audit', page: Audit },
]

function Console(): JSX.Element {
  const at = address.value
  if (at === '/console/link') return <Link />
  switch (session.value.kind) {
    case 'unknown':
      return (
        <main class="door">
          {connection.value === 'lost' && (
            <p>
              <Lost />
            </p>
          )}
        </main>
      )
    case 'out':
      return <SignIn />
    case 'in':
      return <Signed name={session.value.name} at={at} />
  }
}

function Signed({ name, at }: { name: string; at: string }): JSX.Element {
  const approval = /^\/approvals\/([\w-]{1,64})$/.exec(at)?.[1]
  const Page = PAGES.find(({ path }) => path === at)?.page ?? Missing
  const active = approval === undefined ? at : '/console/approvals'
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href="/console/">
          <img src="/console/assets/icon.svg" alt="" width="28" height="28" />
          Cordon
        </a>
        <nav aria-label="Console">
          {PAGES.map(({ path, name: label }) => (
            <a key={path} href={path} aria-current={path === active ? 'page' : undefined}>
              {label}
              {path === '/console/approvals' && waiting.value.length > 0 && (
                <span class="badge" aria-label={`${waiting.value.length} waiting`}>
                  {waiting.value.length}
                </span>
              )}
            </a>
          ))}
        </nav>
        <div class="who">
          <span class="quiet" title="the passkey you signed in with">
            <Text>{name}</Text>
          </span>
          <button type="button" class="small" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </header>
      {connection.value === 'lost' && (
        <p class="lost" role="status">
          <Lost />
        </p>
      )}
      <main id="main" tabIndex={-1}>
        {approval === undefined ? <Page /> : <ApprovalPage key={approval} id={approval} />}
      </main>
    </div>
  )
}

const Lost = (): JSX.Element => <>{sentence(lostBecause.value.message)}. Trying again…</>

const Missing = (): JSX.Element => (
  <>
    <h1>There is no such page</h1>
    <p>
      <a href="/console/">Back to the overview</a>
    </p>
  </>
)

/** A number in the title is seen in a tab that is not. */
effect(() => {
  const count = waiting.value.length
  const at = address.value
  const page = at.startsWith('/approvals/')
    ? 'Approval'
    : at === '/console/link'
      ? 'Make a passkey'
      : PAGES.find(({ path }) => path === at)?.name
  const isIn = session.value.kind === 'in' || at === '/console/link'
  const name = isIn && page !== undefined ? `${page} · Cordon` : 'Cordon'
  document.title = count === 0 ? name : `(${count}) ${name}`
})

async function begin(): Promise<void> {
  for (let wait = 250; session.peek().kind === 'unknown'; wait = Math.min(wait * 2, 5000)) {
    try {
      await loadSession()
      connection.value = 'on'
    } catch (error) {
      lose(error)
      await new Promise((done) => setTimeout(done, wait))
    }
  }
}

/** We have none: one that is here is of somebody who had the provider's port, and would answer for it (decision 0347). */
async function endWorkers(): Promise<boolean> {
  const found = (await navigator.serviceWorker?.getRegistrations()) ?? []
  const ended = await Promise.all(found.map((each) => each.unregister()))
  return ended.includes(true)
}

if (await endWorkers()) location.reload()
else {
  startRouter()
  startLive()
  render(<Console />, document.querySelector('#app')!)
  void begin()
}
