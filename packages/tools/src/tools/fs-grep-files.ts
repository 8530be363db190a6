import { createRequire } from 'node:module'
import { secretTest } from '@cordon/files'
import { below, showWhole, workspaceUri } from '@cordon/policy'
import { Access } from '../access.ts'
import { count, showName, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { searchAll, searchCandidates } from '../grep/run-search.ts'
import { type Query } from '../grep/ripgrep.ts'
import { type Found, type SearchResult } from '../grep/search.ts'
import { type ContentBlock, type Tool } from '../protocol.ts'
import { ToolError } from '../report.ts'
import { GlobFilter, GLOBS } from '../walk/glob-filter.ts'
import { notSearched } from '../walk/unseen.ts'
import { type Met, type SecretAt, WorkspaceWalk } from '../walk/workspace-walk.ts'

const LIMIT_MS = 60_000

export const fsGrepFiles: Tool = defineTool({
  name: 'fs_grep_files',
  description: DESCRIPTIONS.fs_grep_files,
  parameters: {
    type: 'object',
    properties: {
      pattern: { type: 'string', maxLength: 10_000, description: 'What to look for, in one line.' },
      path: {
        type: 'string',
        description: 'A directory or a file, relative to the workspace; default all of it.',
      },
      literal: { type: 'boolean', description: 'The pattern is plain text, not a regular expression.' },
      case: { type: 'string', enum: ['exact', 'ignore', 'smart'], description: 'Default exact.' },
      whole_words: { type: 'boolean', description: 'Only matches that are whole words.' },
      context: { type: 'integer', minimum: 0, maximum: 100, description: 'Lines around each match.' },
      before: { type: 'integer', minimum: 0, maximum: 100, description: 'Lines before each match.' },
      after: { type: 'integer', minimum: 0, maximum: 100, description: 'Lines after each match.' },
      globs: GLOBS,
      hidden: { type: 'boolean', description: 'Search dotfiles, too.' },
      no_ignore: { type: 'boolean', description: 'Search what .gitignore and .ignore leave out, too.' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 10_000,
        description: 'The most matching lines; default 200.',
      },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  describe: ({ pattern, path = '.' }) => `search ${showWhole(path)} for ${showWhole(pattern)}`,
  async run(args, context, { anchors, shown, options }) {
    const { pattern, path = '.', context: around = 0, limit = 200 } = args
    if (pattern === '') throw new ToolError('the pattern is empty')
    if (/[\0\n]/.test(pattern))
      throw new ToolError('the pattern must be one line: it has a line break or a NUL')
    const start = context.locate(path, 'read')
    shown.requirePlace(path, start)
    const access = new Access(context)
    const isSecret = secretsOf(options['not_searched'], access.root.path)
    // Who let the call run did not know it: it was another one then.
    if (isSecret(start.relative, start.absolute)) return success(text(notSearched([start.relative])))
    const walk = new WorkspaceWalk(access, anchors, {
      globs: new GlobFilter(args.globs ?? []),
      depth: 64,
      hidden: args.hidden ? 'show' : 'skip',
      ignoreFiles: args.no_ignore ? 'disregard' : 'respect',
      isSecret,
    })
    const query: Query = {
      pattern,
      syntax: args.literal ? 'literal' : 'regex',
      letterCase: args.case ?? 'exact',
      words: args.whole_words ? 'whole' : 'any',
      before: args.before ?? around,
      after: args.after ?? around,
    }
    const limits = { matches: limit, milliseconds: LIMIT_MS }
    const anchor = anchors.of(start)
    const { relative: name, inside } = start
    const one: Met = { name, anchor: start.anchor, inside, kind: 'file', open: () => anchor.open(inside) }
    const isDirectory = anchor.stat(inside).kind === 'directory'
    // Of many files one that cannot be read is counted; the one that was named is an error.
    if (!isDirectory) anchor.open(inside)[Symbol.dispose]()
    const rgPath = findRipgrep()
    const result =
      isDirectory && options['confined'] === true
        ? await searchCandidates(walk.below(start), start, anchors, rgPath, query, limits)
        : await searchAll(isDirectory ? walk.below(start) : [one], rgPath, query, limits)
    const blocks = result.found.map(showFound)
    return success(...blocks, text([...summary(result, limit), ...walk.unseen.describe()].join(' ')))
  },
})

/**
 * SPEC 4.9: patterns that the host says, and no argument can undo. What they cover is left out before the search, so that no answer
 * depends on what is in it (decision 0406).
 */
function secretsOf(patterns: unknown, root: string): SecretAt {
  const test = secretTest(Array.isArray(patterns) ? patterns.map(String) : [])
  return (name, absolute) =>
    test(absolute, below(root, absolute) ?? absolute.slice(1)) || test(`${root}/${name}`, name)
}

/** Where `@vscode/ripgrep` has the program for this machine. Only its package says so: the module looks when it is loaded. */
const findRipgrep = (): string =>
  createRequire(import.meta.filename).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`)

/** `path:12:text` for a match, `path-12-text` around it, as grep prints them. A name that could be misread is quoted. */
function showFound({ name, lines }: Found): ContentBlock {
  const file = showName(name)
  const shown = lines.map(({ line, kind, text: content }) => {
    const sign = kind === 'match' ? ':' : '-'
    return `${file}${sign}${line}${sign}${content}`
  })
  const uri = workspaceUri(name, '#matches')
  return { type: 'resource', resource: { uri, mimeType: 'text/plain', text: shown.join('\n') } }
}

function summary(result: SearchResult, limit: number): string[] {
  const { matches, files, found, stopped, binary, tooLarge, unreadable } = result
  const where = count(found.length, 'file')
  const sentences = [`${count(matches, 'matching line')} in ${where}; ${count(files, 'file')} searched.`]
  if (stopped === 'enough')
    sentences.push(`Stopped after ${count(limit, 'match', 'matches')}; there may be more.`)
  if (stopped === 'time')
    sentences.push(`Stopped after ${LIMIT_MS / 1000} seconds; the rest was not searched.`)
  if (binary > 0) sentences.push(`${count(binary, 'binary file')} skipped.`)
  if (tooLarge > 0) sentences.push(`${count(tooLarge, 'file')} skipped: larger than 64 MiB.`)
  if (unreadable > 0) sentences.push(`${count(unreadable, 'file')} could not be read.`)
  return sentences
}
