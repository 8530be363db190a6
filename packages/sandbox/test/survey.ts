import { parseAccessPolicy } from '@cordon/policy'
import {
  type PlanRequest,
  type KernelReport,
  type PathKind,
  type Plan,
  planConfinement,
  type Survey,
} from '@cordon/sandbox'

/** A host that does not exist: planning is pure, so its tests need none. */
export const SURVEY: Survey = {
  root: { given: '/home/u/w', canonical: '/home/u/w' },
  home: { given: '/home/u', canonical: '/home/u' },
  scratch: ['/tmp'],
  cwd: '/home/u/w',
  exe: '/usr/bin/tool',
  system: [
    { kind: 'bind', path: '/usr' },
    { kind: 'link', path: '/bin', target: 'usr/bin' },
    { kind: 'bind', path: '/etc' },
  ],
  configuration: ['/etc'],
  at: 0,
  secretsFound: 'at-start',
  secrets: ['/etc/shadow'],
  aroundSecrets: ['/etc/passwd'],
  runtime: [],
  devices: ['/dev/null'],
  kinds: new Map(),
  links: [],
  resolving: { hostname: 'machine', hosts: '/etc/hosts', resolver: '/run/resolve/stub.conf' },
}

export const KERNEL: KernelReport = {
  platform: 'linux',
  release: '6.18.0',
  launcher: { state: 'ready', path: '/launcher' },
  landlockAbi: 7,
  seccomp: true,
  namespaces: {
    user: undefined,
    mount: undefined,
    pid: undefined,
    ipc: undefined,
    uts: undefined,
    net: undefined,
    cgroup: undefined,
  },
  newRoot: 'works',
  lost: [],
}

export function plan(
  access: unknown,
  kinds: Readonly<Record<string, PathKind>> = {},
  more: Partial<PlanRequest> = {},
): Plan {
  return planConfinement({
    policy: parseAccessPolicy(access),
    survey: {
      ...SURVEY,
      kinds: new Map(
        Object.entries(kinds).map(([path, kind]) => [
          path.startsWith('/') ? path : `/home/u/w/${path}`,
          kind,
        ]),
      ),
    },
    kernel: KERNEL,
    mode: 'enforce',
    ...more,
  })
}
