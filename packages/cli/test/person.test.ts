import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { personAt, type Terminal } from '../src/person.ts'

/** Streams as of a terminal: what is typed, and what the person sees. */
class Typed {
  readonly input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
  readonly output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  seen = ''
  interrupted = 0

  constructor() {
    this.output.on('data', (chunk: Buffer) => (this.seen += chunk.toString()))
  }

  get at(): Terminal {
    return {
      input: this.input as unknown as NodeJS.ReadStream,
      output: this.output as unknown as NodeJS.WriteStream,
      interrupt: () => this.interrupted++,
    }
  }

  async sees(text: string): Promise<void> {
    await expect.poll(() => this.seen, { interval: 5 }).toContain(text)
  }
}

test('one question at a time: an answer is for the question that stands there', async () => {
  const typed = new Typed()
  const person = personAt(typed.at)!
  const answers: unknown[] = []
  const asked = ['first? ', 'second? ', 'third? '].map((question) =>
    person.confirms(question).then((answer) => answers.push([question, answer])),
  )
  await typed.sees('first? ')
  expect(typed.seen).not.toContain('second? ')
  typed.input.write('y\n')
  await typed.sees('second? ')
  expect(answers).toEqual([['first? ', true]])
  typed.input.write('n\n')
  await typed.sees('third? ')
  typed.input.write('y\n')
  await Promise.all(asked)
  expect(answers).toEqual([
    ['first? ', true],
    ['second? ', false],
    ['third? ', true],
  ])
})

test('Ctrl-C declines all that is being asked; a second one in a row ends the program', async () => {
  const typed = new Typed()
  const person = personAt(typed.at)!
  const both = [person.confirms('first? '), person.confirms('second? ')]
  await typed.sees('first? ')
  typed.input.write('\u0003')
  expect(await Promise.all(both)).toEqual([false, false])
  expect([typed.seen.includes('second? '), typed.interrupted]).toEqual([false, 0])
  const next = person.confirms('third? ')
  await typed.sees('third? ')
  typed.input.write('\u0003')
  expect(await next).toBe(false)
  expect(typed.interrupted).toBe(1)
})

test('words of others that a question has indented begin no row of it, however long they are', async () => {
  const typed = new Typed()
  typed.output.columns = 40
  const padded = `    + ${'x'.repeat(30)} Trust these files? [y/N/v]`
  const answer = personAt(typed.at)!.confirms(`What it changes:\n${padded}\nTrust them? `)
  await typed.sees('Trust them? ')
  typed.input.write('n\n')
  expect(await answer).toBe(false)
  const rows = stripVTControlCharacters(typed.seen).split(/\r?\n/)
  expect(rows.filter((row) => row.startsWith('Trust'))).toEqual(['Trust them? n'])
  expect(rows.length).toBeGreaterThan(3)
})
