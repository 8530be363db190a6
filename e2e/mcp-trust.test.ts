import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GatewayClient, SMALL, small, UNATTENDED } from './harness/gateway.ts'
import { Place, PROGRAM } from './harness/place.ts'
import { until } from './harness/waiting.ts'

describe('SPEC 2.1: trust', () => {
  test('without a terminal, what files want waits, and a person’s own is served', async () => {
    const place = new Place()
    place.write('small.mjs', SMALL)
    place.write('.cordon/config.toml', UNATTENDED + small())
    await using gateway = await GatewayClient.open(place)
    expect(await gateway.names()).not.toContain('pid')
    await gateway.told('warning: not trusted, and not in effect: .cordon/config.toml; see `cordon trust`')
    const { stdout } = place.cordon(['trust', 'show'])
    expect(stdout).toContain(`${PROGRAM.node} small.mjs '' (server small)`)
  })

  test('a program that changed is not started until a person has accepted it', async () => {
    const place = new Place()
    const file = place.write('small.mjs', SMALL)
    place.config(UNATTENDED + small())
    await (await opened(place)).close()
    writeFileSync(file, `${SMALL}// another program\n`)
    const withheld = await opened(place)
    expect(await withheld.names()).not.toContain('pid')
    await withheld.told('MCP server small was not started: its program is not the one that was used before')
    await withheld.close()
    expect(place.cordon(['trust', 'show']).stdout).toMatch(/-sha256 [0-9a-f]{64}\n +\+sha256 [0-9a-f]{64}\n/)
    expect(place.cordon(['trust', '--yes']).stdout).toContain('accepted MCP server small\n')
    await using accepted = await opened(place)
    expect(await accepted.names()).toContain('pid')
  })

  test('decision 0564: what it was in one workspace is what a new one compares with', () => {
    const place = new Place()
    const file = place.write(join(place.home, 'srv/small.mjs'), SMALL)
    const line = ['mcp', 'add', 'u', '--user', '--', PROGRAM.node]
    expect(place.cordon([...line, file]).code).toBe(0)
    const inside = (name: string): string => {
      place.mkdir(join(place.home, name, '.git'))
      return join(place.home, name)
    }
    const examined = (name: string): string =>
      place.cordon(['mcp', 'doctor', 'u'], { cwd: inside(name) }).stdout
    const other = 'was not started: its program is not the one that was used before'
    expect(examined('one')).toContain('ok  tools/list')
    writeFileSync(file, `${SMALL}// another program\n`)
    for (const name of ['one', 'two', 'two']) expect(examined(name)).toContain(other)
    expect(place.cordon(['trust', 'show'], { cwd: inside('two') }).stdout).toMatch(
      /-sha256 [0-9a-f]{64}\n +\+sha256 [0-9a-f]{64}\n/,
    )
    expect(place.cordon(['trust', '--yes'], { cwd: inside('two') }).stdout).toContain(
      'accepted MCP server u\n',
    )
    // Accepted in one, it is known in the next, and waits where it was another.
    for (const name of ['two', 'three']) expect(examined(name)).toContain('ok  tools/list')
    expect(examined('one')).toContain(other)
    // A relative file is another program in every workspace.
    expect(place.cordon([...line.slice(0, 4), '--replace', ...line.slice(4), 'own.mjs']).code).toBe(0)
    for (const name of ['one', 'two']) {
      place.write(join(inside(name), 'own.mjs'), `${SMALL}// ${name}\n`)
      expect(examined(name)).toContain('ok  tools/list')
    }
  })

  test('a program that changed in mid-session is not started again', async () => {
    const place = new Place()
    const file = place.write('small.mjs', SMALL)
    place.config(UNATTENDED + small('stateful = false'))
    await using gateway = await opened(place)
    expect(await gateway.text('pid')).toMatch(/^\d+ /)
    writeFileSync(file, `${SMALL}// another program\n`)
    expect(await gateway.text('pid')).toContain(
      'was not started: its program is not the one that was used before',
    )
  })

  test('a tool that is described otherwise by now is withheld; revoking makes it new', async () => {
    const place = new Place()
    place.write('small.mjs', SMALL)
    place.config(`${UNATTENDED}${small('[[providers.mcp.small.access.env]]\nname = "SMALL"\nread = true')}`)
    await (await opened(place)).close()
    const changed = await GatewayClient.open(place, { env: { SMALL: 'send me everything' } })
    await changed.told('changed pid since it was first used')
    expect(await changed.names()).not.toContain('pid')
    await changed.close()
    const shown = place.cordon(['trust', 'show', 'providers.mcp.small'])
    expect([shown.code, shown.stderr]).toEqual([0, ''])
    expect(shown.stdout).toMatch(
      /^MCP server small is known since 20\S+ as:\n +program .*\n +runs .*\n +sha256 /,
    )
    expect(shown.stdout).toContain('its tool pid:\n')
    expect(shown.stdout).toMatch(/-.*"plain"[^]*\+.*"send me everything"/)
    const { tools, waiting } = JSON.parse(
      place.cordon(['trust', 'show', 'providers.mcp.small', '--json']).stdout,
    ) as { tools: { name: string }[]; waiting: { tools: { name: string }[] } }
    expect([tools, waiting.tools].map((list) => list.map(({ name }) => name))).toEqual([
      ['pid', 'slow'],
      ['pid'],
    ])
    expect(place.cordon(['trust', 'revoke', 'providers.mcp.small']).stdout).toBe(
      'no longer trusted: providers.mcp.small\n',
    )
    await using fresh = await GatewayClient.open(place, { env: { SMALL: 'send me everything' } })
    await until(async () => (await fresh.names()).includes('pid'))
    const state = (): string => place.cordon(['trust', 'ls']).stdout
    expect(state()).toMatch(/^providers\.mcp\.small +trusted/m)
    expect(place.cordon(['mcp', 'rm', 'small']).code).toBe(0)
    expect(state()).toMatch(/^providers\.mcp\.small +missing/m)
  })
})

/** With its servers started. */
async function opened(place: Place): Promise<GatewayClient> {
  const gateway = await GatewayClient.open(place)
  await gateway.names()
  return gateway
}
