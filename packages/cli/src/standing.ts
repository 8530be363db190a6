import type { World } from './world.ts'

/** So many warnings wait for an answer; of more there are only so many to count. */
const MOST_WARNINGS = 20

/**
 * SPEC 6.5: while a question stands, nothing else is printed: a server could push it away and write another in its place.
 * What comes meanwhile is printed after the answer, in order.
 */
export class StandingQuestions {
  readonly #err: World['err']
  #count = 0
  #later: (() => void)[] = []
  #warnings = 0

  constructor({ err }: Pick<World, 'err'>) {
    this.#err = err
  }

  get isStanding(): boolean {
    return this.#count > 0
  }

  /** Now, or when nothing is asked any more. */
  print(write: () => void): void {
    if (this.isStanding) this.#later.push(write)
    else write()
  }

  /** The same, for what anybody can cause as often as they like. */
  warn(write: () => void): void {
    if (!this.isStanding) write()
    else if (++this.#warnings <= MOST_WARNINGS) this.#later.push(write)
  }

  async during<T>(question: () => Promise<T>): Promise<T> {
    this.#count++
    try {
      return await question()
    } finally {
      if (--this.#count === 0) this.#printAll()
    }
  }

  #printAll(): void {
    const left = this.#warnings - MOST_WARNINGS
    const later = this.#later
    this.#later = []
    this.#warnings = 0
    for (const write of later) write()
    if (left > 0)
      this.#err.write(`${this.#err.style('yellow', 'warning:')} ${left} more warnings are not shown\n`)
  }
}
