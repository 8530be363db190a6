import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Ended, Place, PROGRAM } from './place.ts'

/** As a client's file names it. */
export const CORDON: string = join(dirname(PROGRAM.cordon), 'cordon')
export const UNASKED = '"--cfg", "conversation.tools.*.run=unattended"'
/** What stands in a client's file for a server that was taken. */
export const entry = (name: string): string =>
  `"args": ["mcp", "serve", "--server", ${JSON.stringify(name)}, ${UNASKED}]`

export const SECRET = 'hunter2-hunter2'

/** Where MCP clients have their files, and `cordon mcp import` keeps what they were. */
export class ImportPlace extends Place {
  mcp(...args: string[]): Ended {
    return this.cordon(['mcp', ...args])
  }

  own(name: string): string {
    return join(this.home, name)
  }

  /** What the user has configured, for every workspace; or nothing. */
  userConfig(): string {
    const file = this.own('.config/cordon/config.toml')
    return existsSync(file) ? readFileSync(file, 'utf8') : ''
  }

  imports(): string {
    return this.own('.local/share/cordon/mcp/imports')
  }

  copies(end: string): string[] {
    return readdirSync(this.imports()).filter((name) => name.endsWith(end))
  }
}
