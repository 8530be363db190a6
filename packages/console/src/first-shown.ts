import type { ApprovalDetail } from '../../provider/src/console/answers.ts'

/** By the id of its address, what was first told about an approval, and whether all that came since was the same. */
const first = new Map<string, { readonly shown: string; isSame: boolean }>()

/**
 * What an agent asked for never changes. When another request comes for the same address, somebody between this page and the
 * provider has changed one of the two, and might swap them while a person reads: from then on neither is signed for, however
 * often they change, until the page is loaded anew (decision 0344).
 */
export function isAsFirstShown(id: string, told: ApprovalDetail): boolean {
  const shown = JSON.stringify([told.app, told.agent, told.command, told.request, told.binding])
  const known = first.get(id) ?? { shown, isSame: true }
  known.isSame &&= known.shown === shown
  first.set(id, known)
  return known.isSame
}
