import type { JSX } from 'preact'
import type { OverviewAnswer } from '../../../provider/src/console/answers.ts'
import { get, NO_ANSWER } from '../api.ts'
import { connection, lastRecord, lostBecause, trouble, waiting } from '../live.ts'
import { DayChart } from '../parts/chart.tsx'
import { Empty, sentence, Show, useLoad } from '../parts/load.tsx'
import { plural, Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { loadApprovals, Waiting } from './approvals.tsx'

/** In one look: is it healthy, what waits, what was denied, who is active. */
export function Start(): JSX.Element {
  const overview = useLoad(() => {
    void lastRecord.value // what was denied and who is active is told by the trail
    return get<OverviewAnswer>('overview')
  })
  const approvals = useLoad(loadApprovals)
  return (
    <>
      <h1>Overview</h1>
      <Show loaded={overview}>
        {(seen) => (
          <div class="cards">
            <Health seen={seen} />
            <section class="card">
              <h2>Waiting for you</h2>
              <Show loaded={approvals}>
                {(all) => {
                  const open = all.filter(({ id }) => waiting.value.includes(id))
                  return open.length === 0 ? <Empty good title="Nothing waits" /> : <Waiting rows={open} />
                }}
              </Show>
            </section>
            <section class="card">
              <h2>Denied in the last day</h2>
              <p class="figure">{seen.denied.reduce((sum, count) => sum + count, 0).toLocaleString('en')}</p>
              <DayChart counts={seen.denied} now={seen.now} />
              {!seen.complete && (
                <p class="quiet small">
                  when this provider first looked there were more than 50,000 records: older ones are not
                  counted
                </p>
              )}
            </section>
            <section class="card">
              <h2>Active in the last day</h2>
              {seen.active.length === 0 ? (
                <Empty title="No agent has asked for anything" />
              ) : (
                <ul class="rows plain">
                  {seen.active.map(({ app, requests, refused, last_at }) => (
                    <li key={app}>
                      <span class="what">
                        <b>
                          <Text>{app}</Text>
                        </b>
                        <span class="quiet">
                          {plural(requests, 'request')}
                          {refused > 0 && `, ${refused.toLocaleString('en')} denied`}
                        </span>
                      </span>
                      <span class="quiet">
                        <Time at={last_at} />
                      </span>
                    </li>
                  ))}
                </ul>
              )}
            </section>
          </div>
        )}
      </Show>
    </>
  )
}

/** As the provider says it now; what it said before it fell silent is not known to be true. */
function healthNow(): readonly ['good' | 'bad' | 'warn', string, string] {
  if (connection.value === 'lost')
    return lostBecause.value.code === NO_ANSWER.code
      ? ['warn', 'Unknown', NO_ANSWER.message]
      : ['bad', 'Not ready', `${lostBecause.value.message}. Everything is refused`]
  if (trouble.value === undefined) return ['warn', 'Unknown', 'it was not heard from yet']
  if (trouble.value === null) return ['good', 'Healthy', 'it decides, and it records']
  const { kind, why } = trouble.value
  return ['bad', kind === 'audit' ? 'Stopped' : 'Not ready', `${why}. Everything is refused`]
}

function Health({ seen }: { seen: OverviewAnswer }): JSX.Element {
  const [kind, title, words] = healthNow()
  return (
    <section class={`card health ${kind}`}>
      <h2>Provider</h2>
      <p class="figure">
        <span class="dot" aria-hidden="true" />
        {title}
      </p>
      <p>{sentence(words)}.</p>
      <p class="quiet small">
        version {seen.version}, {seen.database === 'embedded' ? 'embedded database' : 'PostgreSQL'}
      </p>
    </section>
  )
}
