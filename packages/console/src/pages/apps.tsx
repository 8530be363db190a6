import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { AppAnswer, DelegationAnswer } from '../../../provider/src/console/answers.ts'
import { get, post } from '../api.ts'
import { generation } from '../live.ts'
import { Empty, failureOf, Notice, sentence, Show, useFailure, useLoad } from '../parts/load.tsx'
import { Text, visible } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { noteSignedOut } from '../session.ts'

export function Apps(): JSX.Element {
  const loaded = useLoad(() => {
    void generation.value // switched at the terminal, it shows here
    return get<AppAnswer[]>('apps')
  })
  return (
    <>
      <h1>Apps</h1>
      <Show loaded={loaded}>
        {(apps) =>
          apps.length === 0 ? (
            <Empty title="No app was let in yet">
              <p>
                <code>cordon provider app create NAME --policy filesystem:read-only</code>
              </p>
              <p>
                and what it may reach: <code>cordon provider mint --app NAME --prefix DIRECTORY</code>
              </p>
            </Empty>
          ) : (
            <div class="stack">
              {apps.map((app) => (
                <AppCard key={app.id} app={app} changed={() => void loaded.reload()} />
              ))}
            </div>
          )
        }
      </Show>
    </>
  )
}

function AppCard({ app, changed }: { app: AppAnswer; changed: () => void }): JSX.Element {
  const busy = useSignal(false)
  const error = useFailure()
  const flip = async (): Promise<void> => {
    if (busy.value) return
    busy.value = true
    error.value = undefined
    try {
      await post(`apps/${encodeURIComponent(app.id)}`, { enabled: !app.enabled })
      changed()
    } catch (thrown) {
      noteSignedOut(thrown)
      error.value = failureOf(thrown)
    }
    busy.value = false
  }
  return (
    <section class={app.enabled ? 'card' : 'card off'}>
      <header class="split">
        <h2>
          <Text>{app.id}</Text>
        </h2>
        <button
          type="button"
          role="switch"
          class="switch"
          aria-checked={app.enabled}
          aria-label={`${visible(app.id)} may use this provider`}
          aria-disabled={busy.value}
          onClick={() => void flip()}
        >
          <span aria-hidden="true">{app.enabled ? 'On' : 'Off'}</span>
        </button>
      </header>
      <p class="quiet small">
        <code class="did">
          <Text>{app.did}</Text>
        </code>
        , let in <Time at={app.created_at} />
      </p>
      {error.value !== undefined && <Notice kind="bad" title={sentence(error.value.message)} />}
      {app.delegations.length === 0 ? (
        <p class="quiet">Nothing was delegated to it: it can do nothing.</p>
      ) : (
        <ul class="rows plain">
          {app.delegations.map((each) => (
            <li key={each.cid}>
              <span class="what">
                <Text>{each.prefix}</Text>
                <span class="quiet">
                  <code>{each.command}</code>, {each.cid.slice(0, 16)}…
                </span>
              </span>
              <Until delegation={each} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Until({ delegation: { revoked, expires_at } }: { delegation: DelegationAnswer }): JSX.Element {
  if (revoked) return <span class="tag bad">revoked</span>
  if (expires_at === null) return <span class="quiet">no end</span>
  const over = expires_at < Date.now()
  return (
    <span class={over ? 'tag plain' : 'quiet'}>
      {over ? 'ended' : 'ends'} <Time at={expires_at} />
    </span>
  )
}
