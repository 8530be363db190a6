import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sparticuz from '@sparticuz/chromium'

/**
 * Chromium out of the registry's package, unpacked for this process alone: the package takes what it finds unpacked in the
 * temporary directory, also when another process has only begun to.
 */
export async function chromiumPath(): Promise<string> {
  const { TMPDIR } = process.env
  process.env['TMPDIR'] = mkdtempSync(join(tmpdir(), 'chromium-'))
  try {
    return await sparticuz.executablePath()
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
  }
}
