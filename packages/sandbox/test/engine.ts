import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Where the engine of the machine listens. Whoever may talk to it is root on the host. */
export const ENGINE_PATH = '/run/docker.sock'

/** Stands for a container engine: a real socket that answers a ping as the engine does, until the test ends. */
export class Engine {
  readonly path: string
  readonly asked: string[] = []
  readonly #server: Server
  #kept: Socket | undefined

  constructor(path: string) {
    this.path = path
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? '')
      response.end('OK')
    })
  }

  async listen(): Promise<this> {
    this.#server.listen(this.path)
    await once(this.#server, 'listening')
    onTestFinished(() => this.#close())
    chmodSync(this.path, 0o777) // nothing but the sandbox is to be the reason
    return this
  }

  /** A connection that somebody forgot to close. */
  async keepOne(): Promise<Socket> {
    this.#kept = connect(this.path)
    await once(this.#kept, 'connect')
    return this.#kept
  }

  #close(): void {
    this.#kept?.destroy()
    this.#server.close().closeAllConnections()
  }
}

/** Python: asks the engine at each path of the command line, by four names, and at each descriptor that is open. */
export const ASK_ENGINES = `
import errno, fcntl, os, socket, sys
def is_open(fd):
    try: return fcntl.fcntl(fd, fcntl.F_GETFD) >= 0
    except OSError: return False
inherited = [fd for fd in range(3, 1024) if is_open(fd)]
def ping(s, way):
    s.settimeout(100); s.sendall(b'GET /_ping?%s HTTP/1.0\\r\\n\\r\\n' % way); return s.recv(12)[9:].decode()
def attempt(way, f):
    try: print(way, f())
    except OSError as e: print(way, errno.errorcode[e.errno])
def to(path):
    s = socket.socket(socket.AF_UNIX); s.connect(path); return ping(s, b'path')
print('inherited', inherited)
for fd in inherited:
    attempt('fd', lambda: ping(socket.socket(fileno=fd), b'fd'))
    attempt('dir-fd', lambda: to('/proc/self/fd/%d/docker.sock' % fd))
for path in sys.argv[1:]:
    for name in (path, '/proc/self/root' + path, '/proc/1/root' + path, os.path.relpath(path)):
        attempt(name, lambda: os.stat(name) and 'seen')
        attempt(name, lambda: to(name))
`
