import type { TrustTerms } from '../src/trust/gate.ts'

/** A person who trusts whatever the test wrote, at the first question. */
export const TRUSTING: TrustTerms = {
  needs: 'files',
  pid: process.pid,
  reviewer: () => ({ reviews: () => Promise.resolve('yes') }),
}
