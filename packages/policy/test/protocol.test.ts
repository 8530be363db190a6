/** The wire format belongs to other languages too: the Python checker, and what the document promises. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DEFAULT_PORTS, parseContext } from '@cordon/policy'
import { expect, test } from 'vitest'
import { readVectors } from './vectors.ts'

const repo = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const document = readFileSync(repo('docs/tool-protocol.md'), 'utf8')
const files = readdirSync(repo('packages/policy/vectors')).map((file) => file.replace('.json', ''))

const python = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'])
if (python.status !== 0) console.warn('skipped: examples/check-vectors/check.py needs Python 3.9')

test.skipIf(python.status !== 0)('SPEC 1.9 the Python checker passes the vectors', () => {
  const { status, stdout, stderr } = spawnSync('python3', [repo('examples/check-vectors/check.py')], {
    encoding: 'utf8',
  })
  const passed = ['lexical', 'fs', 'net', 'env'].map((file) => {
    const count = readVectors(file).length
    return `${file}: ${count} of ${count} passed\n`
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: passed.join(''), stderr: '' })
})

test('SPEC 1.9 every vector has a section, a name of its own and an expectation', () => {
  for (const file of files) {
    const vectors = readVectors<{ expect: unknown }>(file)
    expect(new Set(vectors.map((v) => v.name)).size).toBe(vectors.length)
    for (const v of vectors) {
      expect(v.section).toMatch(/^[13]\.\d$/)
      expect(v.expect).toBeDefined()
    }
  }
})

test('SPEC 1.9 the document lists every file of vectors, every default port and a context that parses', () => {
  const listed = [...document.matchAll(/^\| `(\w+)` \| .* \| .* \|$/gm)].map((row) => row[1])
  expect(new Set(listed.filter((name) => files.includes(name!)))).toEqual(new Set(files))
  const ports = Object.entries(DEFAULT_PORTS).map(([scheme, port]) => `${scheme} ${port}`)
  expect(document).toContain(`${ports.join(', ')}. No other scheme has one.`)
  const example = /```json\n(.*?)```/s.exec(document)![1]!
  const { context: shown } = JSON.parse(example) as { context: object }
  const context = parseContext({ ...shown, root: '/' })
  expect(context.data.access?.fs.length).toBe(3)
})
