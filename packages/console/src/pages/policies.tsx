import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { PoliciesAnswer, TriedAnswer } from '../../../provider/src/console/answers.ts'
import { get, post } from '../api.ts'
import { generation } from '../live.ts'
import { Empty, failureOf, Notice, sentence, Show, useFailure, useLoad } from '../parts/load.tsx'
import { Text, visible } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { wordsFor } from '../parts/words.ts'
import { noteSignedOut } from '../session.ts'

export function PoliciesPage(): JSX.Element {
  const loaded = useLoad(() => {
    void generation.value
    return get<PoliciesAnswer>('policies')
  })
  return (
    <>
      <h1>Policies</h1>
      <Show loaded={loaded}>
        {(known) => (
          <div class="columns">
            <TryIt known={known} />
            <div class="stack">
              {known.policies.length === 0 && (
                <Empty title="There is no policy">
                  <p>Without one nothing is permitted.</p>
                  <p>
                    <code>cordon provider policy set --app NAME --starter filesystem:read-only</code>
                  </p>
                </Empty>
              )}
              {known.policies.map(({ scope, name, version, text, created_at }) => (
                <section class="card" key={`${scope}/${name}`}>
                  <header class="split">
                    <h2>
                      {scope === '*' ? 'Everybody' : <Text>{scope}</Text>}
                      <span class="quiet"> / </span>
                      <Text>{name}</Text>
                    </h2>
                    <span class="quiet small">
                      version {version}, <Time at={created_at} />
                    </span>
                  </header>
                  <Cedar text={text} label={visible(`policy ${name} of ${scope}`)} />
                </section>
              ))}
            </div>
          </div>
        )}
      </Show>
    </>
  )
}

/** Who, what, where: the decision, and the statements that made it. */
function TryIt({ known }: { known: PoliciesAnswer }): JSX.Element {
  const answer = useSignal<TriedAnswer | undefined>(undefined)
  const error = useFailure()
  const command = useSignal(known.commands[0] ?? '')
  const asked = useRef(0)
  /** An answer belongs to the question that is there: once that is another one, or is no question, it goes. */
  const forget = (): void => {
    asked.current++
    answer.value = undefined
    error.value = undefined
  }
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault()
    forget()
    const mine = asked.current
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const field = (name: string): string => {
      const value = form.get(name)
      return typeof value === 'string' ? value : ''
    }
    const app = field('app')
    try {
      const told = await post<TriedAnswer>('policies/try', {
        app,
        agent: known.apps.find(({ id }) => id === app)?.did ?? '',
        command: field('command'),
        path: field('path'),
        ...(takesDestination(field('command')) ? { destination: field('destination') } : {}),
        exists: form.has('exists'),
        cosigned: form.has('cosigned'),
      })
      if (mine === asked.current) answer.value = told
    } catch (thrown) {
      noteSignedOut(thrown)
      if (mine === asked.current) error.value = failureOf(thrown)
    }
  }
  return (
    <section class="card try">
      <h2>Try it</h2>
      <form onSubmit={(event) => void ask(event)} onInput={forget} onInvalidCapture={forget}>
        <label>
          Who
          <select name="app">
            {known.apps.map(({ id }) => (
              <option key={id} value={id}>
                {visible(id)}
              </option>
            ))}
          </select>
        </label>
        <label>
          What
          <select
            name="command"
            value={command.value}
            onChange={(event) => (command.value = event.currentTarget.value)}
          >
            {known.commands.map((each) => (
              <option key={each} value={each}>
                {wordsFor(each)}
              </option>
            ))}
          </select>
        </label>
        <label>
          Where
          <input
            name="path"
            required
            pattern="/.*"
            title="an absolute path: it begins with /"
            placeholder="/srv/ws/notes.md"
            spellcheck={false}
          />
        </label>
        {takesDestination(command.value) && (
          <label>
            To
            <input
              name="destination"
              required
              pattern="/.*"
              title="an absolute path: it begins with /"
              placeholder="/srv/ws/new.md"
              spellcheck={false}
            />
          </label>
        )}
        <label class="check">
          <input type="checkbox" name="exists" defaultChecked /> it exists
        </label>
        <label class="check">
          <input type="checkbox" name="cosigned" /> a person has signed for it
        </label>
        <button class="primary" disabled={known.apps.length === 0}>
          Decide
        </button>
      </form>
      <p class="quiet small">
        By the provider’s own checks in their order: the app’s switch, what was delegated to it, the path, the
        policy. Where links lead is not looked at.
      </p>
      <div aria-live="polite">
        {error.value !== undefined && <Notice kind="bad" title={sentence(error.value.message)} />}
        {answer.value && <Decision verdict={answer.value} />}
      </div>
    </section>
  )
}

const takesDestination = (command: string): boolean => /\/(?:move|copy)$/.test(command)

const WORDS = {
  allow: ['good', 'Allowed'],
  deny: ['bad', 'Denied'],
  step_up: ['warn', 'A person must approve it'],
} as const

function Decision({ verdict: tried }: { verdict: TriedAnswer }): JSX.Element {
  const { answer, refusal, verdict, decided, permits, errors } = tried
  const [kind, title] = WORDS[answer]
  return (
    <Notice kind={kind} title={title}>
      {refusal && (
        <>
          <p>
            <code>{refusal.code}</code>: <Text line>{refusal.message}</Text>
          </p>
          <p>The policy alone says: {WORDS[verdict][1].toLowerCase()}.</p>
        </>
      )}
      {verdict === 'deny' && decided.length === 0 && errors.length === 0 && <p>No statement permits it.</p>}
      {errors.map((each) => (
        <p key={each}>
          <Text line>{each}</Text>
        </p>
      ))}
      {decided.map(({ id, text }) => (
        <Cedar key={id} text={text} label="a statement that decided" />
      ))}
      {permits.length > 0 && <p>Once somebody has signed, this permits it:</p>}
      {permits.map(({ id, text }) => (
        <Cedar key={id} text={text} label="a statement that decided" />
      ))}
    </Notice>
  )
}

const Cedar = ({ text, label }: { text: string; label: string }): JSX.Element => (
  <pre class="code" tabIndex={0} role="region" aria-label={label}>
    {text.split('\n').map((line, i) => (
      <code key={i}>
        <Text line breaks>
          {line}
        </Text>
        {'\n'}
      </code>
    ))}
  </pre>
)
