import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A package as it is published. `bin` is its only program. */
export interface Published {
  readonly name: string
  readonly version: string
  readonly files: Readonly<Record<string, string>>
  readonly manifest?: Readonly<Record<string, unknown>>
}

interface Version {
  readonly manifest: Readonly<Record<string, unknown>>
  readonly tarball: Buffer
  readonly integrity: string
}

/** A registry of npm and an index of Python packages on loopback, in place of the real ones. */
export class Registry {
  readonly #server: Server
  readonly #npm = new Map<string, Map<string, Version>>()
  readonly #wheels = new Map<string, Buffer>()
  /** Every path that was asked for. */
  readonly asked: string[] = []
  /** What to send instead of a tarball: a registry that does not keep its word. */
  exchanged: Buffer | undefined
  /** Called once, when somebody has been told about a package: a registry that changes its mind. */
  restate: (() => void) | undefined

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<Registry> {
    const server = createServer()
    const registry = new Registry(server)
    server.on('request', (request, response) => {
      const path = decodeURIComponent((request.url ?? '').split('?')[0]!)
      registry.asked.push(path)
      const answer = registry.#answer(path)
      response.writeHead(answer ? 200 : 404, { 'content-type': answer?.type ?? 'application/json' })
      response.end(answer?.body ?? '{"error":"not found"}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return registry
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** For whoever installs from it, and from nowhere else. */
  get env(): Record<string, string> {
    const cache = mkdtempSync(join(tmpdir(), 'cordon-e2e-npm-'))
    chmodSync(cache, 0o777)
    return {
      npm_config_registry: `${this.url}/`,
      npm_config_userconfig: '/dev/null',
      npm_config_cache: cache,
      npm_config_update_notifier: 'false',
      npm_config_fetch_retries: '0',
      PIP_INDEX_URL: `${this.url}/simple/`,
      PIP_CONFIG_FILE: '/dev/null',
      PIP_NO_CACHE_DIR: '1',
    }
  }

  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }

  publish({ name, version, files, manifest = {} }: Published): void {
    const dir = mkdtempSync(join(tmpdir(), 'cordon-e2e-pack-'))
    const whole = { name, version, ...manifest }
    for (const [path, text] of Object.entries({ ...files, 'package.json': JSON.stringify(whole) })) {
      mkdirSync(dirname(join(dir, 'package', path)), { recursive: true })
      writeFileSync(join(dir, 'package', path), text, { mode: 0o755 })
    }
    const { stdout, status } = spawnSync('tar', ['-cz', '-C', dir, 'package'])
    if (status !== 0) throw new Error('tar failed')
    const integrity = `sha512-${createHash('sha512').update(stdout).digest('base64')}`
    const versions = this.#npm.get(name) ?? new Map<string, Version>()
    this.#npm.set(name, versions.set(version, { manifest: whole, tarball: stdout, integrity }))
  }

  /** A wheel with one console script, made by Python itself. */
  publishWheel(name: string, version: string, module: string, ...requires: string[]): void {
    const args = ['-c', WHEEL, name, version, module, ...requires]
    const made = spawnSync('python3', args, { encoding: 'buffer' })
    if (made.status !== 0) throw new Error(`cannot make a wheel: ${made.stderr.toString()}`)
    this.#wheels.set(`${name.replaceAll('-', '_')}-${version}-py3-none-any.whl`, made.stdout)
  }

  #answer(path: string): { body: string | Buffer; type: string } | undefined {
    const [, tarballOf, version] = /^\/tarballs\/(.+)\/([^/]+)\.tgz$/.exec(path) ?? []
    if (tarballOf !== undefined) {
      const body = this.exchanged ?? this.#npm.get(tarballOf)?.get(version!)?.tarball
      return body && { body, type: 'application/octet-stream' }
    }
    if (path.startsWith('/simple/')) return this.#index(path.slice('/simple/'.length).replace(/\/$/, ''))
    if (path.startsWith('/wheels/')) {
      const body = this.#wheels.get(path.slice('/wheels/'.length))
      return body && { body, type: 'application/octet-stream' }
    }
    const versions = this.#npm.get(path.slice(1))
    if (!versions) return undefined
    const body = JSON.stringify(this.#packument(path.slice(1), versions))
    this.restate?.()
    this.restate = undefined
    return { body, type: 'application/json' }
  }

  #packument(name: string, versions: ReadonlyMap<string, Version>): unknown {
    return {
      name,
      'dist-tags': { latest: [...versions.keys()].at(-1) },
      versions: Object.fromEntries(
        [...versions].map(([version, { manifest, integrity }]) => [
          version,
          { ...manifest, dist: { integrity, tarball: `${this.url}/tarballs/${name}/${version}.tgz` } },
        ]),
      ),
    }
  }

  #index(name: string): { body: string; type: string } | undefined {
    const files = [...this.#wheels].filter(([file]) => file.startsWith(`${name.replaceAll('-', '_')}-`))
    const links = files.map(
      ([file, body]) =>
        `<a href="${this.url}/wheels/${file}#sha256=${createHash('sha256').update(body).digest('hex')}">${file}</a>`,
    )
    return files.length === 0
      ? undefined
      : { body: `<!DOCTYPE html><html><body>${links.join('\n')}</body></html>`, type: 'text/html' }
  }
}

const WHEEL = readFileSync(join(import.meta.dirname, 'wheel.py'), 'utf8')
