/**
 * Makes packages/cli/dist/tools.code: what V8 compiles of the shipped tools when each of them is called once
 * (docs/decisions/0243). `node compile-tools.cjs NAME` is one of these calls; each adds to the code of those before it.
 */
const { spawnSync } = require('node:child_process')
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

const dist = join(__dirname, '../packages/cli/dist')

const CALLS = {
  fs_create_file: { path: 'a.txt', content: 'one\ntwo\n' },
  fs_read_file: { path: 'a.txt' },
  fs_list_files: { path: '.' },
  fs_grep_files: { pattern: 'one' },
  fs_modify_file: { edits: [{ path: 'a.txt', old: 'two', new: 'three' }] },
  fs_move_file: { from: 'a.txt', to: 'b.txt' },
  fs_delete_file: { path: 'b.txt' },
}

if (process.argv[2] === undefined) callEach()
else keepCode()

function callEach() {
  const root = mkdtempSync(join(tmpdir(), 'cordon-tools-'))
  const access = { fs: [{ path: '.', read: true, create: true, update: true, delete: true }] }
  try {
    for (const [name, args] of Object.entries(CALLS)) {
      const tool = { name, arguments: args, answers: {}, options: { confined: true } }
      const input = JSON.stringify({ context: { root, action: 'run', access }, tool })
      // With the flags of host/src/execute/shipped.ts: V8 takes code back only with those that it was made with.
      const words = ['--no-rehash-snapshot', __filename, name]
      const { status, stdout } = spawnSync(process.execPath, words, { input, encoding: 'utf8' })
      // Where a tool lacks something (ripgrep, a newer Node) it is compiled when it is called.
      if (status !== 0) console.error(`warning: ${name} was not compiled ${stdout}`)
    }
  } finally {
    rmSync(root, { recursive: true })
  }
}

function keepCode() {
  const { script } = require(join(dist, 'tools-start.cjs'))
  process.on('exit', () => writeFileSync(join(dist, 'tools.code'), script.createCachedData()))
}
