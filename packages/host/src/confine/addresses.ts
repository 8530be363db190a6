import { parseHost } from '@cordon/policy'

/** Where a program connects to that asks for no name. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Addresses with their ports, as programs and scripts write them; of loopback also by its name. Without a port nobody connects. */
export const addressesIn = (text: string): readonly Address[] =>
  SHAPES.flatMap((shape) =>
    [...text.matchAll(shape)].flatMap(([, named = '', port = '']): readonly Address[] => {
      const host = parseHost(named)
      return host === undefined || UNSET.test(host) || Number(port) === 0
        ? []
        : [{ host, port: Number(port) }]
    }),
  )

/** Inside it is the sandbox's own. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127\..*|\[::1\])$/.test(host)

const SHAPES = [
  /(?<![\w.:])(\d{1,3}(?:\.\d{1,3}){3}|localhost|\[[0-9a-f:.]+\]):(\d{1,5})(?![\w.])/gi,
  // `("192.0.2.1", 80)` of Python, `192.0.2.1 port 80` of curl and ssh, `"192.0.2.1", port 80` of psql, `nc 192.0.2.1 80`
  /(?<![\w.:])(\d{1,3}(?:\.\d{1,3}){3}|localhost|[0-9a-f]{0,4}:[0-9a-f:.]*[0-9a-f:])["'`]?(?:,? port |, ?| )["'`]?(\d{1,5})(?![\w.])/gi,
  /\/dev\/tcp\/(\d{1,3}(?:\.\d{1,3}){3}|localhost|[0-9a-f]{0,4}:[0-9a-f:.]*)\/(\d{1,5})(?![\w.])/gi,
  /\bE[A-Z]{3,} ([0-9a-f]{0,4}:[0-9a-f:.]*[0-9a-f:]):(\d{1,5})(?![\w.:])/g, // Node, without brackets
]

/** As a socket's own end is called before it has one. */
const UNSET = /^(?:0\.0\.0\.0|\[::\])$/
