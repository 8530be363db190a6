import { z } from '@hono/zod-openapi'
import { type Command } from '../commands.ts'

/**
 * What each command can be asked for (SPEC 7.2). It is in the signed invocation and nowhere else; a key that is not
 * here is refused, because whoever sent it believes that it does something.
 */
const path = z.string().min(1).max(4096).describe('absolute, and below the delegation’s path_prefix')
const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('SHA-256 in hexadecimal')
const ifMatch = sha256.optional().describe('refuse with 409 unless the content has this hash now')
const count = z.int().nonnegative()
const overwrite = z.boolean().optional().describe('replace a file that is there; needs the delete decision')
const dryRun = z.boolean().optional().describe('say what would happen, and do nothing')

/** The hash is signed, so nobody on the way can send other content (decision 0155). */
const content = { path, sha256, size: count.describe('bytes that follow in the body') }

export const ARGS = {
  '/filesystem/file/read': z.strictObject({
    path,
    start: count.optional(),
    length: count.optional(),
    if_match: ifMatch,
  }),
  '/filesystem/file/write': z.strictObject({ ...content, if_match: ifMatch }),
  '/filesystem/file/create': z.strictObject(content),
  '/filesystem/file/delete': z.strictObject({ path, if_match: ifMatch }),
  '/filesystem/file/move': z.strictObject({ path, destination: path, overwrite }),
  '/filesystem/file/copy': z.strictObject({ path, destination: path, overwrite }),
  '/filesystem/file/edit': z.strictObject({
    path,
    edits: z
      .array(
        z.strictObject({
          old: z.string().min(1),
          new: z.string(),
          all: z.boolean().optional().describe('every occurrence; else there must be exactly one'),
        }),
      )
      .min(1)
      .max(100),
    if_match: ifMatch,
    dry_run: dryRun,
  }),
  '/filesystem/file/stat': z.strictObject({
    path,
    hash: z.boolean().optional().describe('with the content’s SHA-256, for who may read it'),
  }),
  '/filesystem/file/search': z.strictObject({
    path,
    text: z.string().min(1).max(1024).describe('found as it is, not as a pattern'),
    ignore_case: z.boolean().optional(),
  }),
  '/filesystem/dir/list': z.strictObject({ path }),
  '/filesystem/dir/tree': z.strictObject({ path, depth: z.int().min(1).max(64).optional() }),
  '/filesystem/dir/create': z.strictObject({
    path,
    parents: z.boolean().optional().describe('with the directories above it'),
  }),
  '/filesystem/dir/delete': z.strictObject({ path }),
  '/filesystem/dir/delete_recursive': z.strictObject({ path, dry_run: dryRun }),
} as const satisfies Record<Command, z.ZodType<{ path: string }>>

export type ArgsOf<C extends Command> = z.output<(typeof ARGS)[C]>

/** Any command's arguments, by what they have in common. */
export interface AnyArgs {
  readonly path: string
  readonly destination?: string | undefined
  readonly overwrite?: boolean | undefined
  readonly parents?: boolean | undefined
  readonly dry_run?: boolean | undefined
  readonly if_match?: string | undefined
  readonly size?: number | undefined
  readonly sha256?: string | undefined
}
