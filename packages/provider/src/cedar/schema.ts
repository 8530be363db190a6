import { COMMANDS } from '../commands.ts'

/** What every file and directory has: none may be missing, so no policy is skipped for want of one. */
const DESCRIBED =
  '{ "path": String, "name": String, "extension": String, "size": Long, "is_dir": Bool, "exists": Bool }'

/** Commands with a second path; it is in the context as an entity like the first. */
const TWO_PATHS: ReadonlySet<string> = new Set(['/filesystem/file/move', '/filesystem/file/copy'])

/** SPEC 7.4: true once a person has signed for exactly this request, missing otherwise. Nobody else sets it. */
const COSIGNER = '"cosigner"?: Bool'

const actions = (names: readonly string[], context: string): string =>
  `action ${names.map((name) => JSON.stringify(name)).join(', ')} appliesTo {
  principal: [Agent],
  resource: [File, Directory],
  context: { ${context} }
};`

/** SPEC 7.4. Ancestors are parents, so `resource in Directory::"/srv/ws"` compares whole components. */
export const SCHEMA: string = `entity App;
entity User;
entity Agent in [App];
entity Directory in [Directory] = ${DESCRIBED};
entity File in [Directory] = ${DESCRIBED};
${actions(
  COMMANDS.filter((name) => !TWO_PATHS.has(name)),
  COSIGNER,
)}
${actions([...TWO_PATHS], `${COSIGNER}, "destination": File`)}
`
