#!/usr/bin/env node
// CommonJS and old syntax on purpose: an old Node must get far enough to be told what to do. One file, because finding
// and reading another is a part of every start.
const fs = require('node:fs')
const Module = require('node:module')
const { dirname, isAbsolute, join } = require('node:path')

const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  require('./rerun.cjs')
} else {
  const cache = placeForCode()
  const isRun = process.argv[2] === 'run'
  const file = join(__dirname, '../dist', isRun ? 'run.cjs' : 'main.cjs')
  if (!fs.existsSync(file)) {
    console.error(
      'cordon: it has not been built, or is being built.\n  fix: run `npm run build` in the clone',
    )
    process.exitCode = 2
  } else if (isRun) {
    start(file, cache)
  } else {
    if (cache) Module.enableCompileCache(cache)
    require(file)
  }
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
    const there = nearest(place)
    const real = fs.realpathSync.native(there)
    if (isInUnmarked(process.cwd(), real, HOME) || !isSafe(real)) return undefined
    if (there !== place) fs.mkdirSync(place, { recursive: true, mode: 0o700 })
    const { uid, mode } = fs.statSync(place)
    return uid === process.getuid() && (mode & 0o022) === 0 ? place : undefined
  } catch {
    return undefined
  }
}

function nearest(path) {
  return fs.existsSync(path) ? path : nearest(dirname(path))
}

function isBelow(dir, path) {
  return dir === '/' || `${path}/`.startsWith(`${dir}/`)
}

// A directory without a mark is a workspace for who starts there, unless it is around the home.
function isInUnmarked(cwd, path, home) {
  return isBelow(cwd, path) && !isBelow(cwd, home)
}

// Neither this directory nor any above it is another's, open to all, or a workspace.
function isSafe(dir) {
  const { uid, mode } = fs.statSync(dir)
  const isOpen = (mode & 0o002) !== 0 && (mode & 0o1000) === 0
  if ((uid !== 0 && uid !== process.getuid()) || isOpen || fs.existsSync(dir + '/.cordon')) return false
  return dir === '/' || isSafe(dirname(dir))
}

// Starts `cordon run` with what V8 made of it the last time. Node's own compile cache is written before a module has run,
// and so knows none of the functions that it calls; they were half of the time of a start (docs/decisions/0095).
function start(file, cache) {
  const { Script } = require('node:vm')
  const { size, ino, ctimeMs } = fs.statSync(file)
  // V8 itself compares no more than the length of the source; a file that was written anew has another time of change.
  const kept = cache && `${cache}/run-${process.version}-${[size, ino, ctimeMs].join('-')}`
  const script = new Script(fs.readFileSync(file, 'latin1'), {
    filename: file,
    cachedData: kept && read(kept),
  })
  // A module like any other, so that the parts which are loaded later find it. Those are cached by Node.
  const own = new Module(file)
  own.filename = file
  Module._cache[file] = own
  const load = (id) => {
    if (cache && id.startsWith('.')) Module.enableCompileCache(cache)
    return own.require(id)
  }
  script.runInThisContext()(own.exports, load, file)
  const keep = () => kept && script.cachedDataRejected !== false && write(kept, script.createCachedData())
  process.once('exit', keep)
  void own.exports.start(keep)
}

function read(path) {
  try {
    return fs.readFileSync(path)
  } catch {
    return undefined
  }
}

// Whole or not at all: another start may be reading. Without it everything works, only slower.
function write(path, data) {
  const fresh = `${path}.${process.pid}`
  try {
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
    if (name.startsWith('run-') && Date.now() - fs.statSync(join(cache, name)).mtimeMs > month)
      remove(join(cache, name))
}

function remove(path) {
  try {
    fs.rmSync(path, { force: true })
  } catch {
    // it was never there
  }
}
