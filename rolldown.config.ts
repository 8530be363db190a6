import { readFileSync } from 'node:fs'
import { defineConfig } from 'rolldown'

const { version } = JSON.parse(readFileSync('packages/cli/package.json', 'utf8')) as { version: string }

/**
 * Builtins are loaded when they are first used: node:crypto alone costs a tenth of Node's own start, and most commands
 * never hash anything. In our chunks a builtin is always `node_name.member`, so a call in its place is enough.
 */
function lazyBuiltins(code: string): string {
  const names: string[] = []
  const declared = code
    .replaceAll(/^require\("node:[^"]+"\);$/gm, '') // left of an import of types
    .replaceAll(/\b(node_\w+) = require\(("node:[^"]+")\)/g, (whole, name: string, id: string) => {
      if (EAGER.has(id)) return whole
      names.push(name)
      return `${name} = () => require(${id})`
    })
  return names.reduce(
    (text, name) => text.replaceAll(new RegExp(`\\b${name}\\.`, 'g'), `${name}().`),
    declared,
  )
}

/** Used by everything, in Node's own start already. */
const EAGER = new Set(['"node:path"', '"node:fs"', '"node:os"', '"node:buffer"', '"node:events"'])

/** One bundle, lazy chunks: a command loads the rooms it enters, and `cordon --version` none. */
export default defineConfig({
  input: { main: 'packages/cli/src/main.ts' },
  platform: 'node',
  plugins: [{ name: 'lazy-builtins', renderChunk: lazyBuiltins }],
  resolve: { conditionNames: ['cordon-source', 'node', 'import', 'default'] },
  transform: { define: { CORDON_VERSION: JSON.stringify(version) } },
  // Rooms do nothing when they are entered: an import of types only must not load one.
  treeshake: { moduleSideEffects: (id) => !/\/packages\/\w+\/src\/(?!main)/.test(id) },
  output: {
    dir: 'packages/cli/dist',
    // CommonJS: Node's ESM loader, and its facades of every builtin, cost more than all of our own start.
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    cleanDir: true,
    minify: { compress: true, mangle: false, codegen: false },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        // Only a run with network rules pays for an HTTP stack.
        { name: (id) => (/\/(sandbox\/src\/proxy|host\/src\/run\/network)\b/.test(id) ? 'proxy' : null) },
        {
          name: (id) =>
            /\/packages\/(policy|config|workspace|host|files|sandbox|tools)\//.exec(id)?.[1] ?? null,
        },
        { name: (id) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]?.replace('/', '-') ?? null },
      ],
    },
  },
})
