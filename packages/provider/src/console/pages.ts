import type { Context } from 'hono'
import { Hono } from 'hono'
import type { Asset } from './assets.ts'
import type { ConsoleContext } from './context.ts'
import { PAGE_HEADERS, requireHost } from './guard.ts'

/** The one page, at every address that it shows something at, and its script and style. No data is in any of them. */
export function consolePages(context: ConsoleContext): Hono {
  const app = new Hono()
  app.get('/assets/:name', (c) => {
    const found = context.assets?.get(c.req.param('name'))
    return found ? sendAsset(c, found) : c.text('there is no such file\n', 404)
  })
  app.get('*', (c) => sendPage(c, context))
  return app
}

export function sendPage(c: Context, context: ConsoleContext): Response {
  requireHost(c, context.site())
  const page = context.assets?.get('index.html')
  return page ? sendAsset(c, page) : c.text('this provider was started without its console\n', 404)
}

function sendAsset(c: Context, { type, bytes, gzipped, etag }: Asset): Response {
  const headers = {
    ...PAGE_HEADERS,
    'content-type': type,
    'cache-control': 'no-cache', // asked for again, and answered with "not changed"
    etag,
    vary: 'accept, accept-encoding',
  }
  if (c.req.header('if-none-match') === etag) return c.body(null, 304, headers)
  const takesGzip = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '')
  return takesGzip
    ? c.body(new Uint8Array(gzipped), 200, { ...headers, 'content-encoding': 'gzip' })
    : c.body(new Uint8Array(bytes), 200, headers)
}
