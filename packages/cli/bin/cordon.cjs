#!/usr/bin/env node
// CommonJS and old syntax on purpose: an old Node must get far enough to be told what to do.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 22 || (major === 22 && minor >= 19)) {
  // Not Node's default below /tmp: what others can write there would be run with the person's rights.
  const { XDG_CACHE_HOME, HOME = require('node:os').homedir() } = process.env
  const cache = (XDG_CACHE_HOME || HOME + '/.cache') + '/cordon'
  if (process.argv[2] === 'run') {
    require('./cached.cjs')(require.resolve('../dist/run.cjs'), cache)
  } else {
    require('node:module').enableCompileCache(cache)
    require('../dist/main.cjs')
  }
} else {
  require('./rerun.cjs')
}
