/**
 * What a database that fails says, for the log: it names neither data nor code of ours. Undefined: the error is none of
 * these, and so a bug. By what the two engines give as codes, never by their sentences.
 */
export function databaseFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  if (code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number') return SQLITE[errcode & 0xff] // the rest of it says where in SQLite
  return typeof code === 'string' ? (SYSTEM[code] ?? POSTGRES[code] ?? POSTGRES[code.slice(0, 2)]) : undefined
}

/** sqlite.org/rescode.html */
const SQLITE: Readonly<Record<number, string>> = {
  5: 'it is locked by another process',
  6: 'it is locked by another process',
  8: 'it cannot be written: read-only',
  10: 'its disk reports an error',
  11: 'its file is damaged',
  13: 'its disk is full',
  14: 'its file cannot be opened',
  26: 'its file is no database',
}

/** Codes, or classes of them; postgresql.org/docs/current/errcodes-appendix.html */
const POSTGRES: Readonly<Record<string, string>> = {
  '08': 'the connection to it failed',
  '25006': 'it cannot be written: read-only',
  '28': 'it does not let us in',
  '53': 'it has no room or no connection left',
  '53100': 'its disk is full',
  '55P03': 'it is locked by another process',
  '57': 'it is stopping, starting, or took too long',
  '58': 'its disk reports an error',
}

const SYSTEM: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers at its address',
  ECONNRESET: 'the connection to it failed',
  ENOTFOUND: 'its host name is unknown',
  EDQUOT: 'its disk is full',
  EIO: 'its disk reports an error',
  ENOSPC: 'its disk is full',
  EPIPE: 'the connection to it failed',
  ETIMEDOUT: 'the connection to it failed',
}
