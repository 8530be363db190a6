import { type AccessPolicy, CAPABILITIES, type Origin } from '@cordon/policy'

/** SPEC 4.7: for one thing a rule says, who makes it so. */
export interface Holding {
  readonly axis: 'fs' | 'net' | 'env' | 'commands'
  /** What the rule is about: a path, a host, a name, a program. */
  readonly about: string
  /** What is granted or refused there. */
  readonly says: string
  readonly holder: 'kernel' | 'proxy' | 'cooperative' | 'not enforceable here'
  /** How, or why not. */
  readonly detail: string
  readonly origin: Origin | undefined
}

/** What the cooperative layer alone holds: every rule, in tools that check themselves. */
export function cooperativeHoldings({ fs, net, env, commands = {} }: AccessPolicy): Holding[] {
  const holder = 'cooperative'
  const detail = 'held by tools that check themselves'
  return [
    ...fs.map(({ path, grants, origin }): Holding => {
      const says = CAPABILITIES.filter((capability) => grants.has(capability)).join(', ') || 'nothing'
      return { axis: 'fs', about: path, says, holder, detail, origin }
    }),
    ...net.map(({ host, scheme, port, pathPrefix, allow, origin }): Holding => {
      const about = `${scheme ? `${scheme}://` : ''}${host}${port ? `:${port}` : ''}${pathPrefix ?? ''}`
      return { axis: 'net', about, says: allow ? 'allowed' : 'refused', holder, detail, origin }
    }),
    ...env.map(({ name, read, origin }): Holding => {
      return { axis: 'env', about: name, says: read ? 'read' : 'withheld', holder, detail, origin }
    }),
    ...Object.entries(commands).map(([program, { args, origin }]): Holding => {
      const says = args ? args.map((words) => words.join(' ')).join(' | ') : 'any arguments'
      return { axis: 'commands', about: program, says, holder, detail, origin }
    }),
  ]
}
