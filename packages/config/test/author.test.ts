import { expect, test } from 'vitest'
import { type Author, authorOf, LAYERS } from '../src/index.ts'

test('SPEC 2.1: every layer has an author', () => {
  const authors: Record<(typeof LAYERS)[number], Author> = {
    'built-in': 'person',
    user: 'person',
    workspace: 'files',
    directory: 'files',
    'user-workspace': 'person',
    environment: 'person',
    conversation: 'files',
    'command-line': 'person',
    flags: 'person',
  }
  expect(Object.fromEntries(LAYERS.map((layer) => [layer, authorOf({ layer })]))).toEqual(authors)
})

test('SPEC 2.1: a seal makes a conversation the person’s word, and nothing else anybody’s', () => {
  expect(authorOf({ layer: 'conversation', sealed: true })).toBe('person')
  expect(authorOf({ layer: 'workspace', sealed: true })).toBe('files')
  expect(authorOf({ layer: 'directory', sealed: true })).toBe('files')
})

test('SPEC 2.1: a file of the workspace is its files’ word, also where --cfg names it', () => {
  expect(authorOf({ layer: 'command-line', path: 'ci/cordon.toml' })).toBe('files')
})
