import { readFileSync } from 'node:fs'
import { defineConfig, type InputOptions, type Plugin } from 'rolldown'

// One program of many packages (decision 0001).
const { version } = JSON.parse(readFileSync('packages/cli/package.json', 'utf8')) as { version: string }

// Rolldown adds `import` or `require` by how a module is asked for; pg asks by `require`, and must get that one.
const resolve = { conditionNames: ['cordon-source', 'node', 'default'] }

/** Asked for once: every `require` looks the name up anew, which was 2 % of a request to the provider. */
const LAZILY = 'const lazily = (name, it) => new Proxy({}, { get: (_, key) => (it ??= require(name))[key] });'

/**
 * Node's own modules load when something of theirs is first used: reading a file needs no `crypto` and no
 * `child_process`, and each would cost some milliseconds of every call. Those of Node's own
 * start are there already, and `process` is there under its own name (decisions 0092 and 0147).
 */
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  renderChunk: (code) => {
    const uses = code
      .replaceAll(/(?<=(?:=|^)\s*)require\("node:process"\)/gm, 'globalThis.process')
      .replaceAll(/(?<=(?:=|^)\s*)require\("(node:(?!(?:fs|path|events)")[\w/]+)"\)/gm, 'lazily("$1")')
    return `${LAZILY}\n${uses}`
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

/** In a script of `node:vm`, which an entry is, every `import()` throws; a static import of Node's own loads no sooner. */
const withoutImports: Plugin = {
  name: 'without-imports',
  generateBundle: (_, bundle) => {
    for (const file of Object.values(bundle))
      if (file.type === 'chunk' && file.isEntry && file.dynamicImports.some((name) => !(name in bundle)))
        throw new Error(`${file.fileName}: import() of a module of Node’s own; import it statically`)
  },
}

/**
 * `cordon run` imports everything statically. But a room's index leads to modules of others that import later, and Rolldown
 * wraps whatever those lead to into functions, though nothing of it is left at the end: a millisecond of every start (0296).
 */
const oneScope: Plugin = {
  name: 'one-scope',
  resolveId: (id, _, { kind }) => (kind === 'dynamic-import' ? { id, external: true } : null),
  renderChunk: (code, { fileName }) => {
    if (/\b__esm\w*\(/.test(code))
      throw new Error(`${fileName}: a module is wrapped, because of a later import`)
    return null
  },
}

/** Rooms do nothing when they are entered: an import of types only must not load one. */
const treeshake = { moduleSideEffects: (id: string) => !/\/packages\/\w+\/src\/(?!main)/.test(id) }

const common = {
  platform: 'node' as const,
  plugins: [lazyBuiltins],
  resolve,
  treeshake,
  transform: { define: { CORDON_VERSION: JSON.stringify(version), CORDON_PROXY: '"proxy.cjs"' } },
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

/** A script for `node:vm`: the whole file is one function. */
const asFunction = (entry: string) =>
  ({
    postBanner: ({ name }: { name: string }) =>
      name === entry ? '(function (exports, require, __filename) {' : '',
    postFooter: ({ name }: { name: string }) => (name === entry ? '})' : ''),
  }) as const

/**
 * A command once more, in one file that starts faster (decisions 0120 and 0201). It is run by bin/cordon.cjs, with the code
 * that V8 made of it.
 */
const run = defineConfig({
  ...common,
  plugins: [oneScope, lazyBuiltins, inAscii, withoutImports],
  input: { run: 'packages/cli/src/main-run.ts' },
  output: { ...output, ...asFunction('run'), minify: true, codeSplitting: false },
})

/** Most tools have no pattern in the schema of their arguments, so what reads patterns stays apart. */
const tool = defineConfig({
  ...common,
  plugins: [lazyBuiltins, inAscii, withoutImports],
  input: { tool: 'packages/cli/src/main-tool.ts' },
  preserveEntrySignatures: 'allow-extension',
  output: {
    ...output,
    ...asFunction('tool'),
    minify: true,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: (id) => (/\/node_modules\/re2js\//.test(id) ? 'tool-patterns' : 'tool'), debugName: 'tool' },
      ],
    },
  },
})

interface Modules {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null
}

/** The libraries that few questions need: of the other providers, of MCP servers, of patterns. */
const SELDOM =
  /\/node_modules\/(?:@ai-sdk\/(?:anthropic|openai|google)|@modelcontextprotocol|pkce-challenge|jose|re2js)\//

/** Such a library, and whatever imports one: in the one file it would be loaded with it. A package's index imports all of it. */
function isSeldom(id: string, modules: Modules, known: Map<string, boolean>): boolean {
  const before = known.get(id)
  if (before !== undefined) return before
  known.set(id, SELDOM.test(id)) // for those that import each other
  const imported = modules.getModuleInfo(id)?.importedIds ?? []
  const is =
    SELDOM.test(id) ||
    imported.some((next) => !next.endsWith('/src/index.ts') && isSeldom(next, modules, known))
  known.set(id, is)
  return is
}

const seldom = new Map<string, boolean>()

/** `cordon query`, with the library of local models (decisions 0295 and 0312). */
const query = defineConfig({
  ...common,
  // Of the libraries of providers: Node's own would load all of its `fetch` (decision 0312).
  transform: {
    ...common.transform,
    inject: { Headers: [`${import.meta.dirname}/packages/host/src/agent/plain-headers.ts`, 'PlainHeaders'] },
  },
  plugins: [lazyBuiltins, inAscii, withoutImports],
  input: { query: 'packages/cli/src/main-query.ts' },
  preserveEntrySignatures: 'allow-extension',
  output: {
    ...output,
    ...asFunction('query'),
    chunkFileNames: 'query-[name]-[hash].cjs',
    minify: true,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: (id, modules) => (isSeldom(id, modules, seldom) ? null : 'query'), debugName: 'query' },
      ],
    },
  },
})

/** What makes certificates is seven times the rest. It is needed before the start or never, so it is a file like any other. */
const certificatesApart: Plugin = {
  name: 'certificates-apart',
  resolveId: (id) => (id === './authority.ts' ? '\0certificates' : null),
  load: (id) =>
    id === '\0certificates'
      ? "const load = require\nexport const createAuthority = (now) => load('./proxy-certificates.cjs').createAuthority(now)"
      : null,
}

const certificates = defineConfig({
  ...common,
  input: { 'proxy-certificates': 'packages/sandbox/src/proxy/authority.ts' },
  output: { ...output, minify: true, codeSplitting: false },
})

/** The proxy in one file, run from memory at the first connection (decision 0212). */
const proxy = defineConfig({
  ...common,
  plugins: [certificatesApart, lazyBuiltins, inAscii, withoutImports],
  input: { proxy: 'packages/sandbox/src/proxy/serve.ts' },
  output: { ...output, ...asFunction('proxy'), minify: true, codeSplitting: false },
})

/** What runs inside the sandbox: one file, so that one file has to be visible there (decision 0104). */
const tools = defineConfig({
  ...common,
  plugins: [lazyBuiltins, inAscii],
  input: { tools: 'packages/tools/src/main.ts' },
  output: { ...output, codeSplitting: false, minify: true },
})

/** Starts the tools with code that was compiled before (decision 0243). */
const toolsStart = defineConfig({
  ...common,
  input: { 'tools-start': 'packages/tools/src/main-start.ts' },
  output: { ...output, codeSplitting: false, minify: true },
})

/** The provider's page, beside the program that serves it (decision 0191). */
const page = defineConfig({
  input: { console: 'packages/console/src/main.tsx' },
  platform: 'browser',
  tsconfig: 'packages/console/tsconfig.json',
  plugins: [
    {
      name: 'page-files',
      buildStart() {
        for (const fileName of ['index.html', 'icon.svg', 'console.css'])
          this.emitFile({ type: 'asset', fileName, source: readFileSync(`packages/console/src/${fileName}`) })
      },
    },
  ],
  output: {
    dir: 'packages/cli/dist/console',
    format: 'esm',
    entryFileNames: '[name].js',
    codeSplitting: false,
    minify: true,
  },
})

export default [program, run, tool, query, proxy, certificates, tools, toolsStart, page]
