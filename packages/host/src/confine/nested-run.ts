import { basename, dirname, join } from 'node:path'
import { typedPath } from '../outside/place.ts'
import type { Hint } from './hint.ts'
import type { ProgramFacts } from './program-hints.ts'

/** SPEC 4.8: what is told by the outer of two runs. Empty: the command is no `cordon run`, or Cordon is inside. */
export function nestedRunHints(facts: NestedFacts): Hint[] {
  const installed = isCordonRun(facts.argv) ? installationOf(facts) : undefined
  if (installed === undefined || facts.isInside(join(installed, PROGRAM))) return []
  const node = NODES.map((place) => join(installed, place)).find(facts.exists)
  const places = [installed, ...(node === undefined ? [] : [node])]
  return [
    {
      about: installed,
      text: 'a `cordon run` inside needs Cordon itself, which is not there',
      fix: places.map((place) => `--execute ${typedPath(place, facts.home)}`).join(' '),
      audience: 'person',
    },
  ]
}

interface NestedFacts extends Pick<ProgramFacts, 'argv' | 'path' | 'home' | 'exists' | 'isInside'> {
  readonly realName: (path: string) => string
}

const PROGRAM = 'bin/cordon.cjs'
/** The Node that `bin/cordon` takes before the one on PATH. */
const NODES = ['x64', 'arm64'].flatMap((machine) => [
  `node_modules/node-linux-${machine}`,
  `../../node_modules/node-linux-${machine}`,
])

export const isCordonRun = ([program = '', ...words]: readonly string[]): boolean =>
  basename(program) === 'cordon' && words[0] === 'run'

function installationOf({ argv: [program = ''], path, exists, realName }: NestedFacts): string | undefined {
  const file = program.includes('/')
    ? program
    : path
        .split(':')
        .map((dir) => join(dir, program))
        .find(exists)
  const installed = file?.startsWith('/') ? dirname(dirname(realName(file))) : undefined
  return installed !== undefined && exists(join(installed, PROGRAM)) ? installed : undefined
}

/** What a run that is inside another one has granted, the outer one has to have as well. Of the network the inner one has nothing, and has said so. */
export const forBothRuns = (hints: readonly Hint[]): readonly Hint[] =>
  hints.filter((hint) => !isOfNetwork(hint)).map((hint) => ({ ...hint, text: `${hint.text}${BOTH}` }))

const BOTH = '; the `cordon run` inside needs the flag, too'

/** SPEC 4.7: no flag is named that would be refused. */
export const insideAnother = (hints: readonly Hint[]): readonly Hint[] =>
  hints.some(isOfNetwork) ? [...hints.filter((hint) => !isOfNetwork(hint)), NO_NETWORK] : hints

const isOfNetwork = ({ about, question }: Hint): boolean =>
  question?.axis === 'net' || about === 'sockets' || about === 'unix sockets' || about === 'network'

const NO_NETWORK: Hint = {
  about: 'network',
  text: 'a `cordon run` inside another one has no network and no sockets: start it outside of that one',
  fix: undefined,
  audience: 'anyone',
}
