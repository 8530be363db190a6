#!/usr/bin/env node
// CommonJS and old syntax on purpose: an old Node must get far enough to be told what to do.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 22 || (major === 22 && minor >= 19)) {
  require('node:module').enableCompileCache()
  require('../dist/main.cjs')
} else {
  require('./rerun.cjs')
}
