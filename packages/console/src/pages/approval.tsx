import { type Signal, useSignal, useSignalEffect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ApprovalDetail } from '../../../provider/src/console/answers.ts'
import { type Failure, get, post } from '../api.ts'
import { isAsFirstShown } from '../first-shown.ts'
import { approved, lastRecord, waiting } from '../live.ts'
import { Diff, linesBelow } from '../parts/diff.tsx'
import { failureOf, Notice, sentence, Show, useFailure, useLoad } from '../parts/load.tsx'
import { Bytes, plural, Text } from '../parts/text.tsx'
import { secondsLeft, shownFor, shownLeft, Time } from '../parts/time.tsx'
import { wordsForRequest } from '../parts/words.ts'
import { approve, noteSignedOut } from '../session.ts'

/** SPEC 7.5: who asks, what exactly, until when, and one button each way. */
export function ApprovalPage({ id }: { id: string }): JSX.Element {
  const loaded = useLoad(async () => {
    void waiting.value // decided in another browser, it shows here
    void approved.value // and so does that the agent used it
    const approval = await get<ApprovalDetail>(`approvals/${encodeURIComponent(id)}`)
    return { approval, isSame: isAsFirstShown(id, approval) }
  })
  return (
    <>
      {loaded.data.value === undefined && <h1>What an agent asks</h1>}
      <Show loaded={loaded}>
        {({ approval, isSame }) =>
          isSame ? (
            <Question id={id} approval={approval} decided={() => void loaded.reload()} />
          ) : (
            <Swapped id={id} />
          )
        }
      </Show>
    </>
  )
}

/** Neither of the two is shown: whoever read one must not find the other one in its place. */
const Swapped = ({ id }: { id: string }): JSX.Element => (
  <>
    <h1>Sign nothing here</h1>
    <Notice kind="bad" title="This page was told two different things about one request">
      <p>
        What an agent asks for never changes. Somebody between this browser and the provider may have changed
        what you read, or may be about to. Nothing was signed by this.
      </p>
      <p>
        Close the browser, all of it. To see what is really asked, and to answer, use the host’s terminal:{' '}
        <code>cordon provider approve {id}</code>
      </p>
    </Notice>
  </>
)

interface QuestionProps {
  /** Of the address. */
  readonly id: string
  readonly approval: ApprovalDetail
  readonly decided: () => void
}

function Question({ id, approval, decided }: QuestionProps): JSX.Element {
  const { app, agent, command, request, opened_at, expires_at } = approval
  const left = secondsLeft(expires_at)
  const isOver = left === 0 && (approval.state === 'open' || approval.state === 'approved')
  const state = isOver ? 'expired' : approval.state
  const error = useFailure()
  const isWhole = useSignal(false)
  const areAllListed = useSignal(false)
  const unlisted = areAllListed.value ? 0 : Math.max(0, pathsOf(approval).length - FIRST)
  const below = useMemo(() => linesBelow(request.diff ?? ''), [request.diff])
  return (
    <article class="question">
      <p class="crumb">
        <a href="/console/approvals">Approvals</a>
      </p>
      <h1>
        <Text>{app}</Text> wants to {wordsForRequest(command, request)}
      </h1>
      <Outcome approval={{ ...approval, state }} error={error.value} changed={decided} />
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
            <Touched request={request} />
          </dd>
        </div>
        {Object.entries(request.also ?? {}).map(([name, value]) => (
          <div key={name}>
            <dt>
              With <code>{name}</code>
            </dt>
            <dd>
              <Text>{value}</Text>
            </dd>
          </div>
        ))}
      </dl>
      {request.diff !== undefined && (
        <section>
          <h2>What would change</h2>
          <Diff
            text={request.diff}
            isNew={request.bytesNow === undefined && command !== '/filesystem/file/edit'}
            isWhole={isWhole}
          />
        </section>
      )}
      <Paths request={request} command={command} all={areAllListed} />
      <dl class="facts">
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
      {state === 'open' && (
        <Answer
          {...{ id, approval, left, decided, error }}
          unread={isWhole.value ? 0 : below}
          unlisted={unlisted}
        />
      )}
    </article>
  )
}

type Request = ApprovalDetail['request']

const DELETE_TREE = '/filesystem/dir/delete_recursive'
/** What cannot be had back looks like it. */
const DELETES: ReadonlySet<string> = new Set([DELETE_TREE, '/filesystem/file/delete'])

function Touched({ request }: { request: Request }): JSX.Element {
  const { files, directories, bytes, bytesNow, onlyNames, links = 0 } = request
  const counted = [plural(files, 'file'), plural(directories, 'directory', 'directories')]
  const shown = directories === 0 ? counted.slice(0, 1) : files === 0 ? counted.slice(1) : counted
  const isLink = links === 1 && files === 1
  if (onlyNames === true) return <>the names of {shown.join(' and ')}</>
  return (
    <>
      {isLink && directories === 0 ? 'a link, not what it leads to' : shown.join(' and ')}
      {links > 0 && !(isLink && directories === 0) && ` (${plural(links, 'link')} among them)`}
      {!(isLink && directories === 0) && (
        <>
          ,{' '}
          {bytesNow !== undefined && (
            <>
              from <Bytes count={bytesNow} /> to{' '}
            </>
          )}
          <Bytes count={bytes} />
        </>
      )}
    </>
  )
}

const FIRST = 100
const KINDS: Readonly<Record<string, string>> = { d: 'directory', l: 'link', o: 'no file' }

const LOOKS: ReadonlySet<string> = new Set([
  '/filesystem/dir/list',
  '/filesystem/dir/tree',
  '/filesystem/file/search',
])

type Asked = Pick<ApprovalDetail, 'request' | 'command'>

/** Of a tree that is deleted also its root, which goes with the rest. */
const pathsOf = ({ request, command }: Asked): readonly string[] =>
  command === DELETE_TREE ? [request.path, ...request.paths] : request.paths

function Paths({ request, command, all }: Asked & { readonly all: Signal<boolean> }): JSX.Element | null {
  const list = useRef<HTMLUListElement>(null)
  const showAll = (): void => {
    list.current?.focus() // the button goes
    all.value = true
  }
  const paths = pathsOf({ request, command })
  const kinds = `${command === DELETE_TREE ? 'd' : ''}${request.kinds ?? ''}`
  if (paths.length === 0 || (paths.length === 1 && paths[0] === request.path)) return null
  const shown = all.value ? paths : paths.slice(0, FIRST)
  return (
    <section>
      <h2>Everything it would {LOOKS.has(command) ? 'look at' : 'touch'}</h2>
      <ul class="paths" tabIndex={0} aria-label="paths" ref={list}>
        {shown.map((path, i) => (
          <li key={path}>
            <Text>{path}</Text>{' '}
            {KINDS[kinds.charAt(i)] !== undefined && <span class="kind">{KINDS[kinds.charAt(i)]}</span>}
          </li>
        ))}
      </ul>
      {!all.value && paths.length > FIRST && (
        <button type="button" onClick={showAll}>
          Show all {paths.length.toLocaleString('en')}
        </button>
      )}
    </section>
  )
}

/** What is lost, and what is signed for without being shown: where whoever is about to sign looks. */
function Unseen({
  request,
  unread,
  unlisted,
}: Pick<AnswerProps, 'unread' | 'unlisted'> & { request: Request }): JSX.Element {
  const { replaces, unshown, pathsLeftOut = 0, diffLeftOut = 0 } = request
  return (
    <>
      {replaces === true && <p class="warn-text">It replaces the file that is there now.</p>}
      {unshown !== undefined && (
        <p class="warn-text">
          The content is not shown: it, or what is there now, is {unshown}. Say no unless you know it.
        </p>
      )}
      {unread > 0 && (
        <p class="warn-text">Not shown yet, see “Show all”: {plural(unread, 'line')} of this change.</p>
      )}
      {unlisted > 0 && <p class="warn-text">Not listed yet, see “Show all”: {plural(unlisted, 'path')}.</p>}
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

interface AnswerProps extends QuestionProps {
  readonly left: number
  /** Lines of the diff that nobody asked to see. */
  readonly unread: number
  /** Paths of the list, too. */
  readonly unlisted: number
  /** Outlives the buttons: who was too late is told so. */
  readonly error: Signal<Failure | undefined>
}

function Answer({ id, approval, left, unread, unlisted, decided, error }: AnswerProps): JSX.Element {
  const busy = useSignal<'approve' | 'deny' | undefined>(undefined)
  const answer = async (which: 'approve' | 'deny'): Promise<void> => {
    if (busy.value !== undefined) return // not `disabled`: that would take the focus from who uses the keyboard
    busy.value = which
    error.value = undefined
    try {
      await (which === 'approve' ? approve(id, approval) : post(`approvals/${encodeURIComponent(id)}/deny`))
    } catch (thrown) {
      noteSignedOut(thrown)
      error.value = failureOf(thrown)
    }
    busy.value = undefined
    decided()
  }
  return (
    <footer class="answer">
      {error.value !== undefined && <Notice kind="bad" title={sentence(error.value.message)} />}
      <Unseen request={approval.request} unread={unread} unlisted={unlisted} />
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
          class={DELETES.has(approval.command) ? 'primary large danger' : 'primary large'}
          aria-disabled={busy.value !== undefined}
          onClick={() => void answer('approve')}
        >
          {busy.value === 'approve' ? 'Waiting for your passkey…' : 'Approve with passkey'}
        </button>
      </div>
    </footer>
  )
}

/** Said by the provider to who answered what was closed already. Any other failure is over with the question. */
const TOLD: ReadonlySet<string> = new Set(['too_late', 'decided'])

interface OutcomeProps {
  readonly approval: ApprovalDetail
  readonly error: Failure | undefined
  readonly changed: () => void
}

/**
 * What came of it, below the heading. Who was at the buttons when they went is brought here, with the focus: at the end of
 * a long list, or of a narrow page, nobody would see it.
 */
function Outcome({ approval, error, changed }: OutcomeProps): JSX.Element | null {
  const here = useRef<HTMLDivElement>(null)
  const wasOpen = useRef(false)
  const isOpen = approval.state === 'open'
  useEffect(() => {
    if (wasOpen.current && !isOpen) here.current?.focus()
    wasOpen.current = isOpen
  }, [isOpen])
  if (isOpen) return null
  return (
    <div class="outcome" ref={here} tabIndex={-1}>
      {error !== undefined && TOLD.has(error.code) && <Notice kind="bad" title={sentence(error.message)} />}
      <Closed approval={approval} changed={changed} />
    </div>
  )
}

function Closed({ approval, changed }: Omit<OutcomeProps, 'error'>): JSX.Element {
  const by = <Text>{approval.decided_by ?? 'somebody'}</Text>
  const newer = approval.newer !== null && <Newer id={approval.newer} />
  switch (approval.state) {
    case 'open':
    case 'approved':
      return (
        <Notice kind="good" title={<>Approved by {by}</>}>
          {newer || (
            <p>
              If nothing has changed by then, the agent can do exactly this, once, when it asks again within{' '}
              {shownFor(secondsLeft(approval.expires_at))}.
            </p>
          )}
        </Notice>
      )
    case 'used':
      return (
        <Notice kind="good" title={<>Approved by {by}, and used</>}>
          <p>The agent asked again and it was let through. The audit trail has what came of it.</p>
          {newer}
        </Notice>
      )
    case 'denied':
      return (
        <Notice kind="bad" title={<>Denied by {by}</>}>
          {newer}
          {approval.no_until === null ? (
            newer === false && <p>This no counts no more: when the agent asks again, somebody is asked.</p>
          ) : (
            <>
              <p>
                The same request is refused without asking anybody. That ends <Time at={approval.no_until} />.
              </p>
              <AskAgain id={approval.id} changed={changed} />
            </>
          )}
        </Notice>
      )
    case 'expired':
      return (
        <Notice
          kind="plain"
          title={approval.decided_by === null ? 'Too late' : <>Approved by {by}, and not used</>}
        >
          <p>
            {approval.decided_by === null ? 'Nobody answered' : 'The agent did not ask again'} in time, so
            nothing was done. The agent can ask again.
          </p>
          {newer}
        </Notice>
      )
  }
}

const Newer = ({ id }: { id: string }): JSX.Element => (
  <p>
    The agent asks about this path again: something has changed since, or it asks for more.{' '}
    <a href={`/approvals/${id}`}>Look at its new question</a>
  </p>
)

/** A no that was a mistake. Nothing is permitted by it, so no passkey is asked. */
function AskAgain({ id, changed }: { id: string; changed: () => void }): JSX.Element {
  const error = useFailure()
  const shownAt = useRef(lastRecord.peek())
  useSignalEffect(() => {
    if (lastRecord.value !== shownAt.current) changed() // it may have been taken back at the terminal
  })
  const ask = async (button: HTMLElement): Promise<void> => {
    try {
      await post(`approvals/${id}/ask-again`)
      button.closest<HTMLElement>('.outcome')?.focus() // the button goes
      changed()
    } catch (thrown) {
      noteSignedOut(thrown)
      error.value = failureOf(thrown)
    }
  }
  return (
    <>
      <button type="button" onClick={(event) => void ask(event.currentTarget)}>
        Ask me again
      </button>
      {error.value !== undefined && <p>{sentence(error.value.message)}</p>}
    </>
  )
}
