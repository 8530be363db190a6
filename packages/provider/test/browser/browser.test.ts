import type { Browser } from 'playwright-core'
import { afterAll, describe } from 'vitest'
import { startBrowser } from './browser.ts'
import { testImpostor } from './impostor.ts'
import { testLeftBehind } from './left-behind.ts'
import { testPages } from './pages.ts'
import { testReading } from './reading.ts'
import { testSecurity } from './security.ts'
import { testStepUp } from './step-up.ts'

/** One browser for all of it; every person has a profile of his own in it. */
const browser = await startBrowser()
afterAll(() => browser?.close())

describe.skipIf(!browser)('SPEC 7.5 step-up in Chromium', () => testStepUp(browser as Browser))
describe.skipIf(!browser)('SPEC 7.5 what is read is what is signed', () => testReading(browser as Browser))
describe.skipIf(!browser)('SPEC 7.7 attacks on the console', () => testSecurity(browser as Browser))
describe.skipIf(!browser)('SPEC 7.7 somebody else at the port', () => testImpostor(browser as Browser))
describe.skipIf(!browser)('SPEC 7.7 what somebody else leaves in the browser', () =>
  testLeftBehind(browser as Browser),
)
describe.skipIf(!browser)('SPEC 7.7 pages in Chromium', () => testPages(browser as Browser))
