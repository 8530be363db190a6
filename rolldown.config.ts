import { readFileSync } from 'node:fs'
import { defineConfig } from 'rolldown'

const { version } = JSON.parse(readFileSync('packages/cli/package.json', 'utf8')) as { version: string }

/** One bundle, one lazy chunk per command: `cordon --version` loads nothing it does not print. */
export default defineConfig({
  input: { main: 'packages/cli/src/main.ts' },
  platform: 'node',
  resolve: { conditionNames: ['cordon-source', 'node', 'import', 'default'] },
  transform: { define: { CORDON_VERSION: JSON.stringify(version) } },
  output: {
    dir: 'packages/cli/dist',
    format: 'esm',
    cleanDir: true,
    minify: { compress: true, mangle: false, codegen: false },
  },
})
