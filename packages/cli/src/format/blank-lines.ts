/** Empty lines are printed with what follows them: at the end of a text nobody needs any, nor before its first line. */
export class BlankLines {
  /** The empty lines that wait; undefined within a line. */
  #held: string | undefined = ''
  #hasBegun = false

  write(text: string): string {
    const all = (this.#held ?? '') + text
    const end = endOfLines(all)
    if (end === 0 && this.#held !== undefined) {
      this.#held = all
      return ''
    }
    const upTo = Math.min(all.length, end + 1)
    const from = this.#hasBegun ? 0 : all.search(/[^\n]/)
    this.#hasBegun = true
    this.#held = all[upTo - 1] === '\n' ? all.slice(upTo) : undefined
    return all.slice(from, upTo)
  }
}

/** Where its last line ends that is not empty. */
function endOfLines(text: string): number {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return end
}
