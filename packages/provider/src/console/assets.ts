import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

export interface Asset {
  readonly type: string
  readonly bytes: Buffer
  readonly gzipped: Buffer
  readonly etag: string
}

/** The page and everything it loads, by file name. There is nothing else, and nothing from elsewhere. */
export type ConsoleAssets = ReadonlyMap<string, Asset>

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Read once, when the provider starts. */
export function readAmbientAssets(dir: string): ConsoleAssets {
  const names = readdirSync(dir).filter((name) => TYPES[extname(name)] !== undefined)
  return new Map(
    names.map((name) => {
      const bytes = readFileSync(join(dir, name))
      const gzipped = gzipSync(bytes, { level: 9 })
      const etag = `"${hash('sha256', bytes).slice(0, 32)}"`
      return [name, { type: TYPES[extname(name)]!, bytes, gzipped, etag }]
    }),
  )
}
