import { type AccessPolicy, type CommandRule, type FsRule, type NetRule } from '../rules.ts'

/** SPEC 1.9: the finalised policy in snake_case. Origins stay at home: they name the user's files. */
export function serializeAccessPolicy({ fs, net, env, commands }: AccessPolicy): Record<string, unknown> {
  return {
    fs: fs.map(serializeFsRule),
    net: net.map(serializeNetRule),
    env: env.map(({ name, read }) => ({ name, read })),
    ...(commands === undefined ? {} : { commands: serializeCommands(commands) }),
  }
}

const serializeCommands = (commands: Readonly<Record<string, CommandRule>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(commands).map(([program, { args, envs }]) => [
      program,
      { ...(args === undefined ? {} : { args }), ...(envs === undefined ? {} : { envs }) },
    ]),
  )

function serializeFsRule({ path, grants, external, approvedTarget, guard }: FsRule): Record<string, unknown> {
  return {
    path,
    ...Object.fromEntries([...grants].map((capability) => [capability, true])),
    ...(external ? { external } : {}),
    ...(approvedTarget === undefined ? {} : { approved_target: approvedTarget }),
    ...(guard === undefined ? {} : { guard }),
  }
}

function serializeNetRule({ host, scheme, port, pathPrefix, allow }: NetRule): Record<string, unknown> {
  return {
    host,
    ...(scheme === undefined ? {} : { scheme }),
    ...(port === undefined ? {} : { port }),
    ...(pathPrefix === undefined ? {} : { path_prefix: pathPrefix }),
    allow,
  }
}
