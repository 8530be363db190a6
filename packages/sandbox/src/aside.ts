import { mkdirSync, renameSync, rmdirSync, type Stats, unlinkSync, writeFileSync } from 'node:fs'
import type { DeniedPath } from './denied-paths.ts'

/**
 * Another run may do the same at the same moment, so the new name is taken first, and nothing is ever replaced. What is
 * taken fits only what was seen: a directory that stands there by now is not renamed in the place of a link. Where there is no
 * room to take a name, because a command used it up, it is one that nobody guesses: to rename needs none.
 */
export function moveAside(dir: string, name: string, path: string, seen: Stats): DeniedPath | undefined {
  for (let n = 1; ; n++) {
    // Whoever made many such names does not keep us busy.
    const numbered = `${name}.denied-by-cordon-${n <= MOST_NUMBERS ? n : anything()}`
    const taken = takeName(`${dir}/${numbered}`, seen)
    if (taken === 'another’s') continue
    const aside = taken === 'no room' ? `${name}.denied-by-cordon-${anything()}` : numbered
    try {
      renameSync(`${dir}/${name}`, `${dir}/${aside}`)
      return { path, movedTo: path.slice(0, -name.length) + aside }
    } catch (error) {
      if (taken !== 'no room') taken.giveBack()
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return undefined
      if (code === 'EISDIR' || code === 'ENOTDIR') throw new ChangedError()
      throw error
    }
  }
}

/** The path became something else between the look and the move. */
export class ChangedError extends Error {}

const MOST_NUMBERS = 1000
const anything = (): string => Math.random().toString(36).slice(2)

/** A directory can only be renamed over an empty directory, anything else over a file. */
function takeName(path: string, stats: Stats): { readonly giveBack: () => void } | 'another’s' | 'no room' {
  try {
    if (stats.isDirectory()) mkdirSync(path)
    else writeFileSync(path, '', { flag: 'wx' })
    return { giveBack: () => (stats.isDirectory() ? rmdirSync(path) : unlinkSync(path)) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return 'another’s'
    if (code === 'ENOSPC' || code === 'EDQUOT') return 'no room'
    throw error
  }
}
