import { expect, test } from 'vitest'
import { classifyAddress } from '../../src/proxy/address.ts'

const CASES = {
  public: [
    '1.1.1.1',
    '8.8.8.8',
    '172.32.0.1',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::1',
  ],
  loopback: [
    '127.0.0.1',
    '127.255.0.3',
    '::1',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ],
  'link-local': ['169.254.1.1', 'fe80::1', '::ffff:169.254.1.1'],
  metadata: [
    '169.254.169.254',
    '::ffff:169.254.169.254',
    'fd00:ec2::254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
  ],
  private: [
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    'fc00::1',
    'fd12::1',
    'fec0::1',
    '::ffff:10.0.0.1',
    '2002:a00:1::',
  ],
  multicast: ['224.0.0.1', 'ff02::1'],
  unspecified: ['0.0.0.0', '0.1.2.3', '::'],
  reserved: [
    '240.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.18.0.1',
    '2001:db8::1',
    '2001::1',
    '64:ff9b:1::1',
    '4000::1',
    '100::1',
    'name',
    '',
  ],
} as const

for (const [kind, addresses] of Object.entries(CASES))
  for (const address of addresses)
    test(`SPEC 4.5 ${JSON.stringify(address)} is ${kind}`, () => {
      expect(classifyAddress(address)).toBe(kind)
    })
