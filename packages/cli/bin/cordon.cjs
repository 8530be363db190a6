#!/usr/bin/env node
// CommonJS and old syntax on purpose: an old Node must get far enough to be told what to do. One file, because finding
// and reading another is a part of every start.
const fs = require('node:fs')
const Module = require('node:module')
const { dirname, join } = require('node:path')

const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  require('./rerun.cjs')
} else {
  // Not Node's default below /tmp: what others can write there would be run with the person's rights.
  const { XDG_CACHE_HOME, HOME = require('node:os').homedir() } = process.env
  const cache = (XDG_CACHE_HOME || HOME + '/.cache') + '/cordon'
  if (process.argv[2] === 'run') {
    start(join(__dirname, '../dist/run.cjs'), cache)
  } else {
    Module.enableCompileCache(cache)
    require('../dist/main.cjs')
  }
}

// Starts `cordon run` with what V8 made of it the last time. Node's own compile cache is written before a module has run,
// and so knows none of the functions that it calls; they were half of the time of a start (docs/decisions/0095).
function start(file, cache) {
  const { Script } = require('node:vm')
  const { size, ino, ctimeMs } = fs.statSync(file)
  // V8 itself compares no more than the length of the source; a file that was written anew has another time of change.
  const kept = `${cache}/run-${process.version}-${[size, ino, ctimeMs].join('-')}`
  const script = new Script(fs.readFileSync(file, 'latin1'), { filename: file, cachedData: read(kept) })
  // A module like any other, so that the parts which are loaded later find it. Those are cached by Node.
  const own = new Module(file)
  own.filename = file
  Module._cache[file] = own
  const load = (id) => {
    if (id.startsWith('.')) Module.enableCompileCache(cache)
    return own.require(id)
  }
  script.runInThisContext()(own.exports, load, file)
  void own.exports.start(() => script.cachedDataRejected !== false && write(kept, script.createCachedData()))
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
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
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
