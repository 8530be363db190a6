import ipaddr from 'ipaddr.js'

/** SPEC 4.5: what is refused unless a rule names it is everything that is not `public`. */
export type AddressKind =
  | 'public'
  | 'loopback'
  | 'link-local'
  | 'metadata'
  | 'private'
  | 'multicast'
  | 'unspecified'
  | 'reserved'

/** Decision 0051. Anything that is not plainly public is not public: an unknown range is `reserved`. */
export function classifyAddress(address: string): AddressKind {
  if (!ipaddr.isValid(address)) return 'reserved'
  const parsed = ipaddr.parse(address)
  const inner = parsed instanceof ipaddr.IPv6 ? innerV4(parsed) : parsed
  return inner instanceof ipaddr.IPv4 ? classifyV4(inner) : classifyV6(inner)
}

/** Instance metadata of the large clouds. Azure's is a public address that only answers inside. */
const METADATA = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
])

function classifyV4(address: ipaddr.IPv4): AddressKind {
  if (METADATA.has(address.toString())) return 'metadata'
  const range: string = address.range()
  return KINDS[range] ?? 'reserved'
}

function classifyV6(address: ipaddr.IPv6): AddressKind {
  if (address.match(ipaddr.IPv6.parseCIDR('fd00:ec2::/32'))) return 'metadata'
  const range: string = address.range()
  // The registry has allocated 2000::/3 only; the library calls the rest of the space unicast too.
  if (range === 'unicast' && !address.match(ipaddr.IPv6.parseCIDR('2000::/3'))) return 'reserved'
  return KINDS[range] ?? 'reserved'
}

const KINDS: Readonly<Record<string, AddressKind>> = {
  unicast: 'public',
  loopback: 'loopback',
  linkLocal: 'link-local',
  private: 'private',
  uniqueLocal: 'private',
  deprecatedSiteLocal: 'private',
  carrierGradeNat: 'private',
  multicast: 'multicast',
  unspecified: 'unspecified',
}

/** A v6 address that stands for a v4 one is judged as that one: mapped, compatible, NAT64 and 6to4. */
function innerV4(address: ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  const bytes = address.toByteArray()
  const range: string = address.range()
  if (range === 'ipv4Mapped' || range === 'rfc6145') return new ipaddr.IPv4(bytes.slice(12))
  // The local-use NAT64 prefix 64:ff9b:1::/48 stays `reserved`: where it leads is a local matter.
  if (address.match(ipaddr.IPv6.parseCIDR('64:ff9b::/96'))) return new ipaddr.IPv4(bytes.slice(12))
  if (range === '6to4') return new ipaddr.IPv4(bytes.slice(2, 6))
  return address
}
