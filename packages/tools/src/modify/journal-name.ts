/** One name for every journal, so that it is found again without a search, and held by only one run at a time. */
export const JOURNAL_NAME = '.cordon-modify-journal'

export const isJournalName = (name: string): boolean => name === JOURNAL_NAME
