import { SILENT } from '../../src/agent/server-offering.ts'
import { Gateway } from '../../src/gateway/gateway.ts'
import { GatewaySession } from '../../src/gateway/session.ts'
import { compileProject } from '../../src/policies.ts'
import type { SessionPlace } from '../worker/support.ts'

/** What `cordon mcp serve` would serve there, without anybody to ask. */
export async function gatewayOf(
  where: SessionPlace,
  warn: (text: string) => void = () => undefined,
): Promise<Gateway> {
  const project = await where.project()
  const uid = process.getuid?.()
  const compiler = { pid: process.pid, uid, home: where.home, session: 'test', person: undefined }
  return new Gateway({
    project,
    policies: await compileProject(project, compiler),
    compiler,
    installation: { node: process.execPath, tools: '/tools.cjs' },
    surroundings: { env: {}, platform: process.platform, home: where.home, uid },
    version: '1',
    audience: { warn, notice: (texts) => texts.forEach((text) => warn(text)) },
  })
}

/** Of a client that listens to nothing. */
export const sessionOf = async (
  where: SessionPlace,
  warn?: (text: string) => void,
): Promise<GatewaySession> => new GatewaySession(await gatewayOf(where, warn), SILENT)
