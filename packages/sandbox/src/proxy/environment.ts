import { NetIndex, type NetRule, parseNetTarget } from '@cordon/policy'

/** Where the sandboxed program finds the proxy: an address inside its own network namespace. */
export interface ProxyAddress {
  readonly address: string
  readonly port: number
}

/** SPEC 4.5, decision 0054: what makes ordinary programs use the proxy. Loopback is the sandbox's own. */
export function proxyEnv({ address, port }: ProxyAddress, rules: readonly NetRule[]): Record<string, string> {
  const url = `http://${address}:${port}`
  const values = { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: 'localhost,127.0.0.1,::1' }
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(values)) {
    env[name] = value
    env[name.toLowerCase()] = value
  }
  return { ...env, ...NO_LOOK_FOR_UPDATES, ...(reachesRegistry(rules) ? {} : NO_QUEUE) }
}

/** Most commands are allowed no host: then no URL is parsed at their start (decision 0660). */
const reachesRegistry = (rules: readonly NetRule[]): boolean =>
  rules.some(({ allow }) => allow) &&
  new NetIndex(rules).evaluate(parseNetTarget(NPM_REGISTRY)).kind === 'allowed'

/**
 * npm looks for a newer npm once a week, and keeps in the home when it last did. The home inside is always new, so each
 * `npm test` would be refused a host that nobody needs (decision 0267).
 */
const NO_LOOK_FOR_UPDATES = { npm_config_update_notifier: 'false' }

/**
 * npm has 15 connections, and further requests wait. Where the proxy refuses, it takes a new connection for one that waits, is
 * refused, and so on for ever: `npm ci` of 40 packages never ended (decision 0267). Without a queue it ends at once. Where its
 * registry can be reached, the limit spares that, and stays.
 */
const NO_QUEUE = { npm_config_maxsockets: '100000' }
const NPM_REGISTRY = 'https://registry.npmjs.org'

/** Where the spawner put the two PEM files, as the sandboxed program sees them. */
export interface TrustFiles {
  /** `certPem`: the run's authority alone. */
  readonly certificate: string
  /** `bundlePem`: the system's roots and the run's authority. */
  readonly bundle: string
}

/** Node adds to its roots; the others replace theirs, so they get the bundle. */
export function trustEnv({ certificate, bundle }: TrustFiles): Record<string, string> {
  const env: Record<string, string> = { NODE_EXTRA_CA_CERTS: certificate, DENO_CERT: certificate }
  for (const name of REPLACING) env[name] = bundle
  return env
}

const REPLACING = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
]
