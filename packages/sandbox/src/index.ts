export { serveProxy, type ProxyHandle, type ProxyTrust } from './proxy/serve.ts'
export {
  DEFAULT_LIMITS,
  type DecisionKind,
  type ProxyDecision,
  type ProxyLimits,
  type ProxyOptions,
  type Resolve,
} from './proxy/options.ts'
export { classifyAddress, type AddressKind } from './proxy/address.ts'
export { netHolders, type NetHolder } from './proxy/holders.ts'
export { type ProxyAddress, type TrustFiles } from './proxy/environment.ts'
