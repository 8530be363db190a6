import { readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'rolldown'

const { version } = JSON.parse(readFileSync('packages/cli/package.json', 'utf8')) as { version: string }

const resolve = { conditionNames: ['cordon-source', 'node', 'import', 'default'] }

/**
 * Node's own modules load when something of theirs is first used: reading a file needs no `crypto` and no
 * `child_process`, and each would cost some milliseconds of every call. Those of Node's own
 * start are there already, and `process` must be itself when its methods are called.
 */
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  renderChunk: (code) => {
    const uses = code.replaceAll(
      /(?<==\s*)require\("(node:(?!(?:fs|path|os|events|process)")[\w/]+)"\)/g,
      'lazily("$1")',
    )
    return `const lazily = (name) => new Proxy({}, { get: (_, key) => require(name)[key] });\n${uses}`
  },
}

const PROXY = /\/(sandbox\/src\/proxy|host\/src\/run\/network)\b/
const EXPLAINED = /\/sandbox\/src\/proxy\/(holders|gate|readings)\b/

/** One bundle, lazy chunks: a command loads the rooms it enters, and `cordon --version` none. */
const program = defineConfig({
  input: { main: 'packages/cli/src/main.ts' },
  platform: 'node',
  plugins: [lazyBuiltins],
  resolve,
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
        // Only who fetches something, or runs a tool, pays for what that needs.
        { name: (id) => /\/host\/src\/(attachment|execute)\//.exec(id)?.[1] ?? null },
        // Only a run with network rules pays for an HTTP stack; `explain` needs to know who holds them, and no more.
        { name: (id) => (PROXY.test(id) && !EXPLAINED.test(id) ? 'proxy' : null) },
        {
          name: (id) =>
            /\/packages\/(policy|config|workspace|host|files|sandbox|tools)\//.exec(id)?.[1] ?? null,
        },
        { name: (id) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]?.replace('/', '-') ?? null },
      ],
    },
  },
})

/** What runs inside the sandbox: one file, so that one file has to be visible there (decision 0104). */
const tools = defineConfig({
  input: { tools: 'packages/tools/src/main.ts' },
  platform: 'node',
  resolve,
  plugins: [lazyBuiltins],
  treeshake: { moduleSideEffects: (id) => !/\/packages\/\w+\/src\/(?!main)/.test(id) },
  output: {
    dir: 'packages/cli/dist',
    format: 'cjs',
    entryFileNames: '[name].cjs',
    codeSplitting: false,
    minify: true,
  },
})

export default [program, tools]
