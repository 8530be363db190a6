import { batch, useSignal, useSignalEffect } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { EntryAnswer, TrailAnswer, VerifiedAnswer } from '../../../provider/src/console/answers.ts'
import { get, post } from '../api.ts'
import { connection, lastRecord, waiting } from '../live.ts'
import { Empty, failureOf, messageOf, Notice, sentence, useFailure } from '../parts/load.tsx'
import { plural, Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { wordsFor } from '../parts/words.ts'
import { noteSignedOut } from '../session.ts'

const KINDS = [
  ['', 'everything'],
  ['intent', 'asked for'],
  ['outcome', 'what came of it'],
  ['refused', 'refused'],
  ['event', 'by a person'],
] as const

export function Audit(): JSX.Element {
  const given = new URLSearchParams(location.search)
  const kind = useSignal(given.get('kind') ?? '')
  const app = useSignal(given.get('app') ?? '')
  const text = useSignal(given.get('text') ?? '')
  const approvals = useSignal<TrailAnswer['approvals']>({})
  /** What was written since is told, and loaded when somebody asks: a row that is being read does not move away. */
  const upTo = useSignal(0)
  const records = useSignal<readonly EntryAnswer[] | undefined>(undefined)
  const next = useSignal<number | null>(null)
  const lookedAt = useSignal(0)
  const error = useSignal<string | undefined>(undefined)
  let asked = 0
  const load = async (query: URLSearchParams, before?: readonly EntryAnswer[]): Promise<void> => {
    const mine = ++asked
    try {
      const page = await get<TrailAnswer>(`audit?${query.toString()}`)
      if (mine !== asked) return
      batch(() => {
        records.value = [...(before ?? []), ...page.records]
        approvals.value = { ...(before ? approvals.peek() : {}), ...page.approvals }
        if (!before) upTo.value = Math.max(page.records[0]?.seq ?? 0, lastRecord.peek())
        next.value = page.next
        lookedAt.value = (before ? lookedAt.peek() : 0) + page.looked_at
        error.value = undefined
      })
    } catch (thrown) {
      noteSignedOut(thrown)
      if (mine === asked) error.value = messageOf(thrown)
    }
  }
  const query = (): URLSearchParams => {
    const fields = { kind: kind.value, app: app.value.trim(), text: text.value.trim() }
    return new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''))
  }
  useSignalEffect(() => {
    if (connection.value !== 'on') return
    const wanted = query()
    const search = wanted.toString()
    history.replaceState(null, '', `${location.pathname}${search === '' ? '' : `?${search}`}`)
    const timer = setTimeout(() => void load(wanted), records.peek() === undefined ? 0 : 200)
    return () => clearTimeout(timer)
  })
  const more = (): void => {
    const wanted = query()
    wanted.set('before', String(next.value))
    void load(wanted, records.value)
  }
  /** Those of what was written since that fit, up to a page of them. */
  const arrived = useSignal<TrailAnswer | undefined>(undefined)
  useSignalEffect(() => {
    const [wanted, last] = [query(), lastRecord.value]
    if (connection.value !== 'on' || last <= upTo.value) {
      arrived.value = undefined
      return
    }
    wanted.set('after', String(upTo.value))
    get<TrailAnswer>(`audit?${wanted.toString()}`).then(
      (page) => (arrived.value = last === lastRecord.peek() && upTo.peek() < last ? page : arrived.peek()),
      noteSignedOut,
    )
  })
  const trail = useRef<HTMLOListElement>(null)
  /** Above what is there, also above older pages; when they are too many for that, from the newest on. */
  const show = async (): Promise<void> => {
    trail.current?.focus() // the button goes
    const page = arrived.value
    if (!page || page.next !== null) return load(query())
    batch(() => {
      records.value = [...page.records, ...(records.peek() ?? [])]
      approvals.value = { ...approvals.peek(), ...page.approvals }
      upTo.value = Math.max(page.records[0]?.seq ?? 0, upTo.peek())
      arrived.value = undefined
    })
  }
  const added = arrived.value?.records.length ?? 0
  return (
    <>
      <header class="split">
        <h1>Audit</h1>
        <Verify />
      </header>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          Show
          <select value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value)}>
            {KINDS.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </label>
        <label>
          App
          <input
            value={app.value}
            placeholder="any"
            maxLength={64}
            spellcheck={false}
            onInput={(event) => (app.value = event.currentTarget.value)}
          />
        </label>
        <label class="wide">
          Search
          <input
            type="search"
            maxLength={4096}
            value={text.value}
            placeholder="a path, a hash, an approval"
            spellcheck={false}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </label>
      </form>
      {error.value !== undefined && <Notice kind="bad" title={sentence(error.value)} />}
      {records.value === undefined ? (
        error.value === undefined && <p class="quiet loading">Loading…</p>
      ) : (
        <>
          {records.value.length === 0 && (
            <Empty title={next.value === null ? 'No record fits' : 'Nothing found yet'}>
              <p>{plural(lookedAt.value, 'record')} looked through.</p>
            </Empty>
          )}
          <div role="status" class="arrived">
            {added > 0 && (
              <button type="button" onClick={() => void show()}>
                {arrived.value?.next === null ? plural(added, 'new record') : `${added} and more new records`}
                : show
              </button>
            )}
          </div>
          <ol class="trail" ref={trail} tabIndex={-1}>
            {records.value.map((entry) => (
              <Row key={entry.seq} entry={entry} approvals={approvals.value} />
            ))}
          </ol>
          {next.value !== null && (
            <button type="button" onClick={more}>
              {records.value.length === 0 ? 'Search further back' : 'Older records'}
            </button>
          )}
        </>
      )}
    </>
  )
}

interface RowProps {
  readonly entry: EntryAnswer
  readonly approvals?: TrailAnswer['approvals']
}

function Row({ entry: { seq, body, hash }, approvals = {} }: RowProps): JSX.Element {
  const { tag, word, what, code, where } = lineOf(body, approvals)
  return (
    <li>
      <details>
        <summary>
          <span class="seq quiet">{seq.toLocaleString('en')}</span>
          <span class={`tag ${tag}`}>{word}</span>
          <span class="what">
            <span>
              {what}
              {code !== undefined && (
                <>
                  {' '}
                  <code class="quiet">{code}</code>
                </>
              )}
            </span>
            {where !== undefined && <span class="about">{where}</span>}
          </span>
          {typeof body?.['at'] === 'number' && (
            <span class="quiet">
              <Time at={body['at']} />
            </span>
          )}
        </summary>
        <pre class="code" tabIndex={0} role="region" aria-label={`record ${seq}`}>
          <code>
            <Lines text={body === null ? 'this record cannot be read' : JSON.stringify(body, undefined, 2)} />
            <span class="quiet">hash {hash}</span>
          </code>
        </pre>
      </details>
    </li>
  )
}

const Lines = ({ text }: { text: string }): JSX.Element => (
  <>
    {text.split('\n').map((line, i) => (
      <span key={i}>
        <Text line most={2000}>
          {line}
        </Text>
        {'\n'}
      </span>
    ))}
  </>
)

/** A record is what was stored; whatever is no text in it is shown as JSON. */
const textOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)

/** Our own words, and somebody else's names among them. */
interface Line {
  readonly tag: string
  readonly word: string
  readonly what: JSX.Element
  /** Why it was not done. */
  readonly code?: string
  readonly where?: JSX.Element
}

/** What became of a question; one that is kept no more was asked, and that is all that is known here. */
function answered(id: string, approvals: TrailAnswer['approvals']): Pick<Line, 'tag' | 'word'> {
  const state = approvals[id]
  switch (state) {
    case 'open':
      return waiting.value.includes(id) ? { tag: 'warn', word: 'waits' } : { tag: 'plain', word: 'answered' }
    case 'approved':
    case 'used':
      return { tag: 'good', word: 'approved' }
    case 'denied':
      return { tag: 'bad', word: 'denied' }
    case 'expired':
      return { tag: 'plain', word: 'expired' }
    case undefined:
    default:
      return { tag: 'plain', word: 'asked' }
  }
}

function lineOf(body: EntryAnswer['body'], approvals: TrailAnswer['approvals']): Line {
  const field = (name: string): string => textOf(body?.[name])
  switch (body?.['kind']) {
    case 'intent':
      return { tag: 'plain', word: 'asked', what: <Wish of={body} />, where: <Paths of={body} /> }
    case 'refused': {
      const code = field('code')
      const asksPerson = code === 'step_up_required'
      const tag = asksPerson ? answered(field('approval'), approvals) : { tag: 'bad', word: 'refused' }
      const what = (
        <>
          <Wish of={body} />
          {asksPerson && ', needs a person'}
        </>
      )
      return { ...tag, what, ...(asksPerson ? {} : { code }), where: <Paths of={body} /> }
    }
    case 'outcome': {
      const result = field('result')
      const isDone = result === 'done'
      return {
        tag: isDone ? 'good' : 'bad',
        word: result,
        what: <Wish of={body} />,
        ...(isDone ? {} : { code: field('code') }),
        where: <Paths of={body} />,
      }
    }
    case 'event': {
      const what = (
        <>
          <Theirs>{field('name')}</Theirs>, by <Theirs>{field('by')}</Theirs>
        </>
      )
      const tag = field('name').endsWith(' refused')
        ? { tag: 'bad', word: 'refused' }
        : { tag: 'person', word: 'person' }
      return { ...tag, what, ...aboutOf(body) }
    }
    default:
      return { tag: 'bad', word: 'broken', what: <>this record cannot be read</> }
  }
}

type Fields = Readonly<Record<string, unknown>>

/** A part of a line: a record may have anything in it. */
const Theirs = ({ children }: { children: unknown }): JSX.Element => (
  <Text most={300}>{textOf(children)}</Text>
)

const Wish = ({ of: { app, command } }: { of: Fields }): JSX.Element => (
  <>
    <Theirs>{app}</Theirs>: <Theirs>{wordsFor(textOf(command))}</Theirs>
  </>
)

const Paths = ({ of: { path, destination } }: { of: Fields }): JSX.Element => (
  <>
    <Theirs>{path}</Theirs>
    {destination !== undefined && (
      <>
        {' '}
        to <Theirs>{destination}</Theirs>
      </>
    )}
  </>
)

const TOLD = ['app', 'approval', 'name', 'prefix', 'did', 'cid'] as const

function aboutOf(body: Fields): Pick<Line, 'where'> {
  const detail = (body['detail'] ?? {}) as Fields
  const { scope, approval, command } = detail
  if (approval !== undefined && command !== undefined)
    return {
      where: (
        <>
          <Wish of={detail} />, <Paths of={detail} />
        </>
      ),
    }
  const whose =
    scope === undefined
      ? []
      : [
          scope === '*' ? (
            <>of everybody</>
          ) : (
            <>
              of app <Theirs>{scope}</Theirs>
            </>
          ),
        ]
  const rest = TOLD.filter((name) => detail[name] !== undefined).map((name) => (
    <>
      {name} <Theirs>{detail[name]}</Theirs>
    </>
  ))
  const parts = [...whose, ...rest]
  if (parts.length === 0) return {}
  return { where: <>{parts.map((part, i) => (i === 0 ? part : <>, {part}</>))}</> }
}

/** Chain and checkpoints, all of them, with the first broken record. */
function Verify(): JSX.Element {
  const busy = useSignal(false)
  const result = useSignal<VerifiedAnswer | undefined>(undefined)
  const error = useFailure()
  const run = async (): Promise<void> => {
    if (busy.value) return
    batch(() => {
      busy.value = true
      result.value = undefined
      error.value = undefined
    })
    try {
      result.value = await post<VerifiedAnswer>('audit/verify')
    } catch (thrown) {
      noteSignedOut(thrown)
      error.value = failureOf(thrown)
    }
    busy.value = false
  }
  const found = result.value
  return (
    <>
      <button type="button" class="primary" aria-disabled={busy.value} onClick={() => void run()}>
        {busy.value ? 'Verifying…' : 'Verify'}
      </button>
      <div class="verdict" aria-live="polite">
        {error.value !== undefined && <Notice kind="bad" title={sentence(error.value.message)} />}
        {found !== undefined && (found.ok ? <Whole found={found} /> : <Broken found={found} />)}
      </div>
    </>
  )
}

const Whole = ({ found }: { found: VerifiedAnswer }): JSX.Element => (
  <Notice kind="good" title="The trail is whole">
    <p>
      {plural(found.records, 'record')} and {plural(found.checkpoints, 'checkpoint')} are as they were
      written.
      {found.unfinished > 0 && ` ${plural(found.unfinished, 'operation')} were interrupted.`}
    </p>
  </Notice>
)

const Broken = ({ found }: { found: VerifiedAnswer }): JSX.Element => (
  <Notice kind="bad" title={`The trail is broken at record ${found.first?.seq ?? '?'}`}>
    <p>
      {found.first?.kind}: {found.first?.detail}
      {found.problems > 1 && `, and ${plural(found.problems - 1, 'more problem')}`}
    </p>
    {found.first?.record && (
      <ol class="trail">
        <Row entry={found.first.record} />
      </ol>
    )}
  </Notice>
)
