import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Sources, not dist: a test never passes against a stale build.
// Node itself adds `import` or `require`; named here, a `require` would be given ES modules.
const conditions = ['cordon-source', 'node', 'default']

export default defineConfig({
  resolve: {
    conditions,
    alias: { 'fast-check': fileURLToPath(new URL('scripts/fast-check.ts', import.meta.url)) },
  },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'e2e/**/*.test.ts'],
    globalSetup: 'scripts/test-dir.ts',
    // Vitest would take one less than there are cores; a good part of our time is spent waiting for processes.
    maxWorkers: 3,
    // Far more than any test takes: a busy machine is no failure.
    testTimeout: 300_000,
    // Who ran out of time all the same is tried once more, and marked so; a wrong answer never is.
    retry: { count: 1, condition: /timed out in \d+ms|Timeout \d+ms exceeded/ },
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 300_000, // a database server is started in one
    teardownTimeout: 60_000, // a browser takes its time to end
    coverage: { provider: 'v8', include: ['packages/*/src/**'], reporter: ['text-summary', 'html'] },
  },
})
