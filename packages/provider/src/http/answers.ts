import { z } from '@hono/zod-openapi'
import type { Command } from '../commands.ts'
import { REFUSALS } from '../errors.ts'

/** What each command answers with, for the OpenAPI document; tests hold the implementation to it. */
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const kind = z.enum(['file', 'directory', 'link', 'fifo', 'socket', 'device', 'unknown'])
const written = z.strictObject({ sha256, size: z.int() })
const deleted = z.strictObject({ deleted: z.string() })

/** `null`: the content itself. */
export const ANSWERS = {
  '/filesystem/file/read': null,
  '/filesystem/file/write': written,
  '/filesystem/file/create': written,
  '/filesystem/file/delete': deleted,
  '/filesystem/file/move': z.strictObject({ moved: z.string(), to: z.string() }),
  '/filesystem/file/copy': z.strictObject({
    copied: z.string(),
    to: z.string(),
    sha256: sha256.optional(),
    size: z.int(),
  }),
  '/filesystem/file/edit': z.strictObject({
    sha256: sha256.optional(),
    size: z.int(),
    dry_run: z.boolean(),
    truncated: z.boolean().optional().describe('the diff has more'),
    diff: z.string().optional(),
  }),
  '/filesystem/file/stat': z.strictObject({
    path: z.string(),
    kind,
    size: z.int(),
    mode: z.string(),
    modified: z.string(),
    sha256: sha256.optional(),
  }),
  '/filesystem/file/search': z.strictObject({
    matches: z.array(z.strictObject({ path: z.string(), line: z.int(), text: z.string() })),
    truncated: z.boolean(),
    searched: z.int(),
    skipped: z.int(),
    withheld: z.int(),
  }),
  '/filesystem/dir/list': z.strictObject({
    entries: z.array(z.strictObject({ name: z.string(), kind })),
    truncated: z.boolean(),
    unnameable: z.int(),
  }),
  '/filesystem/dir/tree': z.strictObject({
    entries: z.array(z.strictObject({ path: z.string(), kind })),
    truncated: z.boolean(),
    withheld: z.int(),
    unreadable: z.int(),
  }),
  '/filesystem/dir/create': z.strictObject({ created: z.string() }),
  '/filesystem/dir/delete': deleted,
  '/filesystem/dir/delete_recursive': z.strictObject({
    files: z.int(),
    directories: z.int(),
    bytes: z.int(),
    deleted: z.string().optional(),
    dry_run: z.boolean().optional(),
    paths: z.array(z.string()).optional(),
    truncated: z.boolean().optional(),
    needs_person: z
      .strictObject({ entries: z.int(), paths: z.array(z.string()) })
      .optional()
      .describe('of a dry run: a person must sign for these, and so for all of it'),
  }),
} as const satisfies Record<Command, z.ZodType | null>

export type AnswerOf<C extends Command> = (typeof ANSWERS)[C] extends z.ZodType
  ? z.output<(typeof ANSWERS)[C]>
  : never

export const ERROR_BODY = z
  .object({
    error: z.looseObject({
      code: z.enum(Object.keys(REFUSALS) as [keyof typeof REFUSALS, ...(keyof typeof REFUSALS)[]]),
      message: z.string().describe('for a person: what is wrong, and what to do'),
    }),
  })
  .openapi('Error')

export const APPROVAL_BODY = z
  .object({
    id: z.string(),
    app: z.string(),
    agent: z.string(),
    command: z.string(),
    state: z.enum(['open', 'approved', 'denied', 'used', 'expired']),
    opened_at: z.string(),
    expires_at: z.string(),
  })
  .openapi('Approval')
