import type { Context } from 'hono'
import { Hono } from 'hono'
import type { Asset } from './assets.ts'
import type { ConsoleContext } from './context.ts'
import { isOurHost, PAGE_HEADERS } from './guard.ts'
import type { Site } from './site.ts'

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
  const site = context.site()
  if (!isOurHost(c, site)) return sendElsewhere(c, site)
  const page = context.assets?.get('index.html')
  return page ? sendAsset(c, page) : c.text('this provider was started without its console\n', 404)
}

/** Opened by another name, most often 127.0.0.1: passkeys belong to one origin, and the way there is one click. */
function sendElsewhere(c: Context, { origin }: Site): Response {
  // Whoever made the address chose its path: what could be more than a path leads to the start page.
  const path = /^\/[\w/-]*$/.test(c.req.path) ? c.req.path : '/console/'
  const link = `${origin}${path}`
  return c.html(
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Cordon is elsewhere</title>
<link rel="stylesheet" href="/console/assets/console.css">
<main class="door">
<h1>The console is at another address</h1>
<p class="quiet">A passkey belongs to one address, so the console is at that one and nowhere else.</p>
<p><a href="${link}">Go to ${link}</a></p>
</main>
</html>
`,
    421,
    { ...PAGE_HEADERS, 'cache-control': 'no-store' },
  )
}

/** The page itself is never kept, and with it goes what somebody else at the port has told the browser to keep (decision 0347). */
const FRESH = { 'cache-control': 'no-store', 'clear-site-data': '"cache"' }

/**
 * We have no service worker. One that a browser asks for is of somebody who had the port, and is replaced by this one, which
 * goes and lets what he showed be loaded again; a 404 would leave his where it is (decision 0347).
 */
export function sendLastWorker(c: Context): Response {
  const headers = { 'content-type': 'text/javascript', 'service-worker-allowed': '/', ...FRESH }
  return c.body(LAST_WORKER, 200, { ...PAGE_HEADERS, ...headers })
}

const LAST_WORKER = `addEventListener('install', () => skipWaiting())
addEventListener('activate', (event) => event.waitUntil(leave()))
async function leave() {
  await clients.claim()
  await registration.unregister()
  for (const page of await clients.matchAll({ type: 'window' })) page.navigate(page.url)
}
`

function sendAsset(c: Context, { type, bytes, gzipped, etag }: Asset): Response {
  const headers = {
    ...PAGE_HEADERS,
    'content-type': type,
    'cache-control': 'no-cache', // asked for again, and answered with "not changed"
    etag,
    vary: 'accept, accept-encoding',
    ...(type.startsWith('text/html') ? FRESH : {}),
  }
  if (c.req.header('if-none-match') === etag) return c.body(null, 304, headers)
  const takesGzip = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '')
  return takesGzip
    ? c.body(new Uint8Array(gzipped), 200, { ...headers, 'content-encoding': 'gzip' })
    : c.body(new Uint8Array(bytes), 200, headers)
}
