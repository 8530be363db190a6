import type { JSX } from 'preact'
import type { ApprovalAnswer, ApprovalRow } from '../../../provider/src/console/answers.ts'
import { get } from '../api.ts'
import { waiting } from '../live.ts'
import { Empty, Show, useLoad } from '../parts/load.tsx'
import { Text } from '../parts/text.tsx'
import { secondsLeft, shownLeft, Time } from '../parts/time.tsx'
import { wordsFor, wordsForRequest } from '../parts/words.ts'

export function loadApprovals(): Promise<ApprovalRow[]> {
  void waiting.value // when what waits changes, the list does
  return get<ApprovalRow[]>('approvals')
}

export function Approvals(): JSX.Element {
  const loaded = useLoad(loadApprovals)
  return (
    <>
      <h1>Approvals</h1>
      <Show loaded={loaded}>
        {(all) => {
          const open = all.filter(isWaiting)
          const past = all.filter((each) => !isWaiting(each))
          return (
            <>
              <h2>Waiting for you</h2>
              {open.length === 0 ? (
                <Empty good title="Nothing waits for you">
                  <p>When an agent asks for something that needs a person, it shows here at once.</p>
                </Empty>
              ) : (
                <Waiting rows={open} />
              )}
              {past.length > 0 && (
                <>
                  <h2>Before</h2>
                  <ul class="rows">
                    {past.map((row) => (
                      <li key={row.id}>
                        <a href={`/approvals/${row.id}`}>
                          <State row={row} />
                          <span class="what">
                            <b>
                              <Text>{row.app}</Text>
                            </b>
                            : {wordsFor(row.command)}
                            <Text>{row.path}</Text>
                          </span>
                          <span class="quiet">
                            <Time at={row.opened_at} />
                          </span>
                        </a>
                      </li>
                    ))}
                  </ul>
                </>
              )}
            </>
          )
        }}
      </Show>
    </>
  )
}

const isWaiting = ({ state, expires_at }: ApprovalRow): boolean =>
  state === 'open' && secondsLeft(expires_at) > 0

export const Waiting = ({ rows }: { rows: readonly ApprovalRow[] }): JSX.Element => (
  <ul class="rows waiting">
    {rows.map((row) => (
      <li key={row.id}>
        <a href={`/approvals/${row.id}`}>
          <span class="what">
            <b>
              <Text>{row.app}</Text>
            </b>{' '}
            wants to {wordsForRequest(row.command, row)}
            <Text>{row.path}</Text>
            {row.destination !== undefined && (
              <span class="about">
                to <Text>{row.destination}</Text>
              </span>
            )}
          </span>
          <span class="left">{shownLeft(secondsLeft(row.expires_at))}</span>
        </a>
      </li>
    ))}
  </ul>
)

const STATES: Readonly<Record<ApprovalAnswer['state'], readonly [string, string]>> = {
  open: ['warn', 'waiting'],
  approved: ['good', 'approved'],
  used: ['good', 'approved, done'],
  denied: ['bad', 'denied'],
  expired: ['plain', 'expired'],
}

function State({ row: { state, decided_by } }: { row: ApprovalRow }): JSX.Element {
  const [kind, word] = STATES[state]
  return (
    <span class={`tag ${kind}`}>
      {state === 'expired' && decided_by !== null ? 'approved, not used' : word}
    </span>
  )
}
