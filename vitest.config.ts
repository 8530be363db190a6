import { defineConfig } from 'vitest/config'

// Sources, not dist: a test never passes against a stale build.
const conditions = ['cordon-source', 'node', 'import', 'default']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'e2e/**/*.test.ts'],
    globalSetup: 'scripts/test-dir.ts',
    testTimeout: 30_000,
    coverage: { provider: 'v8', include: ['packages/*/src/**'], reporter: ['text-summary', 'html'] },
  },
})
