import type { JSX } from 'preact'
import type { OverviewAnswer } from '../../../provider/src/console/answers.ts'
import { get } from '../api.ts'
import { waiting } from '../live.ts'
import { DayChart } from '../parts/chart.tsx'
import { Empty, Show, useLoad } from '../parts/load.tsx'
import { plural, Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { loadApprovals, Waiting } from './approvals.tsx'

/** In one look: is it healthy, what waits, what was denied, who is active. */
export function Start(): JSX.Element {
  const overview = useLoad(() => {
    void waiting.value
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
              {!seen.complete && <p class="quiet small">counted in the last 50,000 records only</p>}
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

function Health({ seen }: { seen: OverviewAnswer }): JSX.Element {
  const [kind, title, words] = seen.audit_broken
    ? [
        'bad',
        'Stopped',
        'The audit chain is shorter than it was. Everything is refused; verify it under Audit.',
      ]
    : seen.ready
      ? ['good', 'Healthy', 'It decides, and it records.']
      : [
          'bad',
          'Not ready',
          'The database does not answer or takes no records, or it is stopping. Everything is refused.',
        ]
  return (
    <section class={`card health ${kind}`}>
      <h2>Provider</h2>
      <p class="figure">
        <span class="dot" aria-hidden="true" />
        {title}
      </p>
      <p>{words}</p>
      <p class="quiet small">
        version {seen.version}, {seen.database === 'embedded' ? 'embedded database' : 'PostgreSQL'}
      </p>
    </section>
  )
}
