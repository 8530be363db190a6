import { readFileSync } from 'node:fs'
import { defineConfig } from 'rolldown'

const { version } = JSON.parse(readFileSync('packages/cli/package.json', 'utf8')) as { version: string }

/** One bundle, lazy chunks: a command loads the rooms it enters, and `cordon --version` none. */
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
    codeSplitting: {
      groups: [
        {
          name: (id) =>
            /\/packages\/(policy|config|workspace|host|files|sandbox|tools)\//.exec(id)?.[1] ?? null,
        },
        { name: (id) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]?.replace('/', '-') ?? null },
      ],
    },
  },
})
