/** What a script can rely on. Every command ends with one of these, or with the code of what it ran. */
export const EXIT = { ok: 0, denied: 1, usage: 2 } as const
