import {
  type AccessFlags,
  asAsked,
  choosePolicy,
  type Chosen,
  listMounts,
  isOfProfile,
  parseTyped,
  type Question,
  type RunAsked,
  why,
  type Why,
  whyRun,
} from '@cordon/host'
import { shellWord } from '@cordon/policy'
import type { Register } from '../command.ts'
import { needsOf } from '../run-command.ts'
import { formatWhy, whyJson } from '../format/why.ts'
import { type CommonOptions, withCommonOptions } from '../options.ts'
import { compileQuietly, installation, openProjectAnywhere, trustTerms } from '../project.ts'
import { EXIT, warn, writeJson } from '../report.ts'
import type { World } from '../world.ts'

async function ask(world: World, name: string, question: Question, options: CommonOptions): Promise<Why> {
  const project = await openProjectAnywhere(world, options, needsOf(name))
  if (isOfProfile(question, name, project, world)) return askRun(world, question, options, name)
  const place = {
    ...world,
    mounts: await listMounts(project, world),
    installation: installation(world),
  }
  const asked = asAsked(question, name, project, place)
  if ('because' in asked) return asked
  return why(project, await compileQuietly(world, project), name, asked, place)
}

/** Of what `cordon run` would give a command here, without any option, or with one of the shipped profiles. */
async function askRun(
  world: World,
  question: Question,
  { cfg }: CommonOptions,
  profile?: string,
): Promise<Why> {
  const place = { cwd: world.cwd, surroundings: world, cfg, unmarked: 'allow' } as const
  const none = { read: [], write: [], execute: [], allowNet: [], env: [] }
  const compiler = { ...world, person: undefined }
  const choose = (flags: AccessFlags): Promise<Chosen> =>
    choosePolicy(
      { ...place, trust: trustTerms(world, profile === undefined ? 'nothing' : needsOf(profile)) },
      compiler,
      profile === undefined ? { kind: 'default' } : { kind: 'profiles', names: [profile] },
      flags,
      'ask',
    )
  const chosen = await choose(none)
  if (profile === undefined) warn(world, chosen.alarms)
  const asked: RunAsked = {
    chosen,
    withFlag: (flag, path) => choose({ ...none, [flag]: [path] }),
    ...(profile === undefined ? {} : { options: `--profile ${shellWord(profile)} ` }),
  }
  return whyRun(asked, question, world)
}

export const register: Register = (parser, world) => {
  withCommonOptions(parser)
    .argument('<tool>', 'a tool, an MCP server or a profile, also a shipped one; run: a plain cordon run')
    .argument('<capability>', 'read, create, update (or write), delete or execute; net; env')
    .argument('<target>', 'a path, a URL, or the name of a variable')
    .addHelpText(
      'after',
      `
Exit code: 0 allowed, 1 denied, 2 a question or a configuration that makes no
sense.

Examples:
  cordon why fs_read_file read src/main.ts
  cordon why run read ~/.ssh
  cordon why fetch net https://api.github.com/repos
  cordon why fetch env GITHUB_TOKEN`,
    )
    .action(async (tool: string, capability: string, target: string, options: CommonOptions) => {
      const question = parseTyped(capability, target)
      const found =
        tool === 'run' ? await askRun(world, question, options) : await ask(world, tool, question, options)
      if (options.json) writeJson(world, whyJson(found))
      else world.out.write(formatWhy(found, world.out))
      world.finish(found.allowed ? EXIT.ok : EXIT.denied)
    })
}
