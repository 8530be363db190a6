import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { ApprovalDetail } from '../../../provider/src/console/answers.ts'
import { get, post } from '../api.ts'
import { waiting } from '../live.ts'
import { Diff } from '../parts/diff.tsx'
import { messageOf, Notice, Show, useLoad } from '../parts/load.tsx'
import { Bytes, plural, Text } from '../parts/text.tsx'
import { secondsLeft, shownLeft, Time } from '../parts/time.tsx'
import { wordsFor } from '../parts/words.ts'
import { noteSignedOut, sign } from '../session.ts'
import { State } from './approvals.tsx'

/** SPEC 7.5: who asks, what exactly, until when, and one button each way. */
export function ApprovalPage({ id }: { id: string }): JSX.Element {
  const loaded = useLoad(() => {
    void waiting.value // decided in another browser, it shows here
    return get<ApprovalDetail>(`approvals/${encodeURIComponent(id)}`)
  })
  return (
    <>
      {loaded.data.value === undefined && <h1>What an agent asks</h1>}
      <Show loaded={loaded}>
        {(approval) => <Question approval={approval} decided={() => void loaded.reload()} />}
      </Show>
    </>
  )
}

function Question({ approval, decided }: { approval: ApprovalDetail; decided: () => void }): JSX.Element {
  const { app, agent, command, request, opened_at, expires_at } = approval
  const left = secondsLeft(expires_at)
  const state = approval.state === 'open' && left === 0 ? 'expired' : approval.state
  const error = useSignal<string | undefined>(undefined)
  return (
    <article class="question">
      <p class="crumb">
        <a href="/console/approvals">Approvals</a>
      </p>
      <h1>
        <Text>{app}</Text> wants to {wordsFor(command)}
      </h1>
      <p class="target">
        <Text>{request.path}</Text>
        {request.destination !== undefined && (
          <>
            {' '}
            <span class="quiet">to</span> <Text>{request.destination}</Text>
          </>
        )}
      </p>
      <dl class="facts">
        <div>
          <dt>Touches</dt>
          <dd>
            {touched(request)}, <Bytes count={request.bytes} />
          </dd>
        </div>
        <div>
          <dt>Asked</dt>
          <dd>
            <Time at={opened_at} />
          </dd>
        </div>
        <div>
          <dt>Command</dt>
          <dd>
            <code>{command}</code>
          </dd>
        </div>
        <div>
          <dt>Signed by</dt>
          <dd>
            <code class="did">
              <Text>{agent}</Text>
            </code>
          </dd>
        </div>
      </dl>
      {request.diff !== undefined && (
        <section>
          <h2>What would change</h2>
          <Diff text={request.diff} />
        </section>
      )}
      {(request.paths.length > 1 || request.paths[0] !== request.path) && <Paths paths={request.paths} />}
      {error.value !== undefined && <Notice kind="bad" title={error.value} />}
      {state === 'open' ? (
        <Answer approval={approval} left={left} decided={decided} error={error} />
      ) : (
        <Closed approval={{ ...approval, state }} />
      )}
    </article>
  )
}

const FIRST = 100

function touched({ files, directories }: ApprovalDetail['request']): string {
  const counted = [plural(files, 'file'), plural(directories, 'directory', 'directories')]
  return (directories === 0 ? counted.slice(0, 1) : files === 0 ? counted.slice(1) : counted).join(' and ')
}

function Paths({ paths }: { paths: readonly string[] }): JSX.Element {
  const all = useSignal(false)
  const shown = all.value ? paths : paths.slice(0, FIRST)
  return (
    <section>
      <h2>Everything it would touch</h2>
      <ul class="paths" tabIndex={0} aria-label="paths">
        {shown.map((path) => (
          <li key={path}>
            <Text>{path}</Text>
          </li>
        ))}
      </ul>
      {!all.value && paths.length > FIRST && (
        <button type="button" onClick={() => (all.value = true)}>
          Show all {paths.length.toLocaleString('en')}
        </button>
      )}
    </section>
  )
}

/** What is lost, and what is signed for without being shown: where whoever is about to sign looks. */
function Unseen({ request }: { request: ApprovalDetail['request'] }): JSX.Element {
  const { replaces, unshown, pathsLeftOut = 0, diffLeftOut = 0 } = request
  return (
    <>
      {replaces === true && <p class="warn-text">It replaces the file that is there now.</p>}
      {unshown !== undefined && (
        <p class="warn-text">
          The content is not shown: it, or what is there now, is {unshown}. Say no unless you know it.
        </p>
      )}
      {diffLeftOut > 0 && (
        <p class="warn-text">
          {diffLeftOut.toLocaleString('en')} characters of this change are too many to show here. Say no
          unless you know them.
        </p>
      )}
      {pathsLeftOut > 0 && (
        <p class="warn-text">
          And {pathsLeftOut.toLocaleString('en')} more that are not listed here. Say no unless you know them.
        </p>
      )}
    </>
  )
}

interface AnswerProps {
  readonly approval: ApprovalDetail
  readonly left: number
  readonly decided: () => void
  /** Outlives the buttons: who was too late is told so. */
  readonly error: Signal<string | undefined>
}

function Answer({ approval: { id, request }, left, decided, error }: AnswerProps): JSX.Element {
  const busy = useSignal<'approve' | 'deny' | undefined>(undefined)
  const answer = async (which: 'approve' | 'deny'): Promise<void> => {
    if (busy.value !== undefined) return // not `disabled`: that would take the focus from who uses the keyboard
    busy.value = which
    error.value = undefined
    try {
      await post(
        `approvals/${id}/${which}`,
        which === 'approve' ? await sign(`approvals/${id}/question`) : {},
      )
    } catch (thrown) {
      noteSignedOut(thrown)
      error.value = messageOf(thrown)
    }
    busy.value = undefined
    decided()
  }
  return (
    <footer class="answer">
      <Unseen request={request} />
      <p class={left <= 15 ? 'left soon' : 'left'} role="timer">
        {shownLeft(left)}
      </p>
      <div class="buttons">
        <button
          type="button"
          class="large"
          aria-disabled={busy.value !== undefined}
          onClick={() => void answer('deny')}
        >
          {busy.value === 'deny' ? 'Saying no…' : 'Deny'}
        </button>
        <button
          type="button"
          class="primary large"
          aria-disabled={busy.value !== undefined}
          onClick={() => void answer('approve')}
        >
          {busy.value === 'approve' ? 'Waiting for your passkey…' : 'Approve with passkey'}
        </button>
      </div>
    </footer>
  )
}

function Closed({ approval }: { approval: ApprovalDetail }): JSX.Element {
  const by = approval.decided_by ?? 'somebody'
  switch (approval.state) {
    case 'open':
    case 'approved':
      return (
        <Notice kind="good" title={`Approved by ${by}`}>
          <p>The agent can do exactly this, once, when it asks again.</p>
        </Notice>
      )
    case 'used':
      return (
        <Notice kind="good" title={`Approved by ${by}, and used`}>
          <p>The agent asked again and it was let through. The audit trail has what came of it.</p>
        </Notice>
      )
    case 'denied':
      return (
        <Notice kind="bad" title={`Denied by ${by}`}>
          <p>The same request is refused for an hour without asking anybody.</p>
        </Notice>
      )
    case 'expired':
      return (
        <Notice
          kind="plain"
          title={approval.decided_by === null ? 'Too late' : `Approved by ${by}, and not used`}
        >
          <p>
            {approval.decided_by === null ? 'Nobody answered' : 'The agent did not ask again'} in time, so
            nothing was done. The agent can ask again.
          </p>
          <State state="expired" />
        </Notice>
      )
  }
}
