import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { O_PATH } from '@cordon/files'
import { below } from '@cordon/policy'
import type { Plan } from '@cordon/sandbox'
import type { Confinement } from '../confine/program.ts'

/**
 * What a worker was started under (decision 0200). It takes another call only while all of this is as it was: the
 * policy, the plan that was made of it and of what lies on the disk, the mounts of this host, and behind every path
 * that the sandbox shows, pins or hides the very file or directory that was there.
 */
export class Sameness {
  /** What it was started for (`describeConfinement`). */
  readonly text: string
  readonly #places: readonly HeldPlace[]

  private constructor(text: string, places: readonly HeldPlace[]) {
    this.text = text
    this.#places = places
  }

  /** Before the start. Holds the places, so that no number of one is given to another. */
  static hold(text: string, plan: Plan): Sameness {
    return new Sameness(text, placesOf(plan).map(holdPlace))
  }

  /** Whether a call that is described by `text` may have this worker: same text, and the same things at its places. */
  holds(text: string): boolean {
    return text === this.text && this.#places.every(isThere)
  }

  release(): void {
    for (const { held } of this.#places) if (held) closeSync(held.fd)
  }
}

/** Everything that decides what a sandbox is like, in one text. Paths are in it as names; `hold` is about what they lead to. */
export function describeConfinement(request: Confinement, plan: Plan, env: Record<string, string>): string {
  const { argv, cwd, policy, boundary, sandbox } = request
  const { items, watched, limits, survey } = plan
  const mounts = mountsIn(items.flatMap((item) => (item.tag === 'bind' ? [item.path] : [])))
  // Which files in there are secret was found out at the start.
  const secrets = survey.configuration.map((path) => String(lstatSync(path, { bigint: true }).ctimeNs))
  const all = {
    argv,
    cwd,
    env,
    policy,
    boundary,
    sandbox,
    items,
    watched,
    limits,
    exe: survey.exe,
    mounts,
    secrets,
  }
  return JSON.stringify(all, (_key, value: unknown) => (value instanceof Set ? [...value] : value))
}

/** What is mounted there on this host: a sandbox that is there already does not see what is mounted later. */
const mountsIn = (places: readonly string[]): readonly string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => {
      const point = (line.split(' ')[4] ?? '').replaceAll(/\\(\d{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      )
      return places.some((place) => below(place, point) !== undefined)
    })

interface HeldPlace {
  readonly path: string
  /** Undefined: there was nothing. */
  readonly held: { readonly fd: number; readonly dev: bigint; readonly ino: bigint } | undefined
}

const placesOf = ({ items, survey }: Plan): readonly string[] => [
  ...new Set([
    survey.exe,
    ...items.flatMap((item) => ('path' in item && SHOWN.has(item.tag) ? [item.path] : [])),
  ]),
]

/** Mounts and Landlock rules are for what is there, whatever it is called later. */
const SHOWN: ReadonlySet<string> = new Set(['bind', 'cover', 'pin-link', 'allow'])

function holdPlace(path: string): HeldPlace {
  try {
    const fd = openSync(path, O_PATH | constants.O_NOFOLLOW)
    const { dev, ino } = fstatSync(fd, { bigint: true })
    return { path, held: { fd, dev, ino } }
  } catch {
    return { path, held: undefined }
  }
}

/** Whether the same is still there; what may not be looked at is as good as gone. */
function isThere({ path, held }: HeldPlace): boolean {
  let stats
  try {
    stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    // gone
  }
  return stats?.dev === held?.dev && stats?.ino === held?.ino
}
