import { readFileSync } from 'node:fs'
import { defineConfig, type InputOptions, type Plugin } from 'rolldown'

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
      /(?<=(?:=|^)\s*)require\("(node:(?!(?:fs|path|events|process)")[\w/]+)"\)/gm,
      'lazily("$1")',
    )
    return `const lazily = (name) => new Proxy({}, { get: (_, key) => require(name)[key] });\n${uses}`
  },
}

/** One byte a character: bin/cordon.cjs reads it as it is. */
const inAscii: Plugin = {
  name: 'in-ascii',
  generateBundle: (_, bundle) => {
    for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = escape(file.code)
  },
}

const escape = (code: string): string =>
  code.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** In a script of `node:vm` every `import()` throws; a static import of Node's own loads no sooner. */
const withoutImports: Plugin = {
  name: 'without-imports',
  generateBundle: (_, { 'run.cjs': file }) => {
    if (file?.type === 'chunk' && /\bimport\s*\(/.test(file.code))
      throw new Error('run.cjs: import() of a module of Node’s own; import it statically')
  },
}

/** Rooms do nothing when they are entered: an import of types only must not load one. */
const treeshake = { moduleSideEffects: (id: string) => !/\/packages\/\w+\/src\/(?!main)/.test(id) }

const common = {
  platform: 'node' as const,
  plugins: [lazyBuiltins],
  resolve,
  treeshake,
  transform: { define: { CORDON_VERSION: JSON.stringify(version) } },
} satisfies InputOptions

const output = {
  dir: 'packages/cli/dist',
  // CommonJS: Node's ESM loader, and its facades of every builtin, cost more than all of our own start.
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name]-[hash].cjs',
  minify: { compress: true, mangle: false, codegen: false },
} as const

/** Lazy chunks: a command loads what it uses, and `cordon --version` nothing. */
const program = defineConfig({
  ...common,
  input: { main: 'packages/cli/src/main.ts' },
  output: { ...output, cleanDir: true },
})

/**
 * What `cordon run` needs only now and then: the proxy, its certificates when a rule looks into https, the parser of
 * unusual command lines, and what explains a failure.
 */
const CERTIFICATES = /\/sandbox\/src\/proxy\/authority|\/node_modules\/(?!commander|smol-toml|ipaddr\.js)/
const PROXY =
  /\/sandbox\/src\/proxy\/(?!holders|gate|readings)|\/host\/src\/run\/network|\/node_modules\/ipaddr\.js/
const PARSER = /\/node_modules\/commander\/|\/cli\/src\/(?:cli|options|commands\/run)\.ts$/
const AFTERWARDS =
  /\/host\/src\/(?:run\/(?:waiting|hints|limits|mentions|unconfined)|why\/answer)|\/sandbox\/src\/(?:spawn|exit|ended|denied-paths)\.ts|\/cli\/src\/format\//

const RUN_PARTS = [
  ['run-certificates', CERTIFICATES],
  ['run-network', PROXY],
  ['run-parser', PARSER],
  ['run-afterwards', AFTERWARDS],
] as const

/** `cordon run` once more, in one file that starts faster (decision 0095); what is seldom needed stays apart. */
const run = defineConfig({
  ...common,
  plugins: [lazyBuiltins, inAscii, withoutImports],
  input: { run: 'packages/cli/src/main-run.ts' },
  preserveEntrySignatures: 'allow-extension',
  output: {
    ...output,
    minify: true,
    postBanner: ({ name }) => (name === 'run' ? '(function (exports, require, __filename) {' : ''),
    postFooter: ({ name }) => (name === 'run' ? '})' : ''),
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        {
          name: (id) => RUN_PARTS.find(([, those]) => those.test(id))?.[0] ?? 'run',
          debugName: 'run',
        },
      ],
    },
  },
})

/** What runs inside the sandbox: one file, so that one file has to be visible there (decision 0104). */
const tools = defineConfig({
  ...common,
  input: { tools: 'packages/tools/src/main.ts' },
  output: { ...output, codeSplitting: false, minify: true },
})

export default [program, run, tools]
