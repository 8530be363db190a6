import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import {
  checksum,
  type ConversationEvent,
  createConversation,
  eventsFile,
  HostPaths,
  openConversation,
  readConversation,
  type Shelf,
} from '@cordon/workspace'
import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  dictionary,
  nat,
  oneof,
  property,
  string,
} from 'fast-check'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER } from './fixture.ts'

const anyText = string({ unit: 'grapheme', maxLength: 60 })
const anyRequest = anyText.map((text): ConversationEvent => ({
  kind: 'request',
  at: 't',
  text,
  resources: [],
}))

async function textsOf(...[ref]: Parameters<typeof readConversation>): Promise<string[]> {
  const texts: string[] = []
  for await (const event of readConversation(ref)) if (event.kind === 'request') texts.push(event.text)
  return texts
}

test('SPEC 6.1 cut a log anywhere: every event that was complete is there, and writing goes on', async () => {
  const { workspace } = await freshWorkspace()
  const shelf: Shelf = { workspace, holder: HOLDER, now: () => new Date() }
  const ref = await createConversation(shelf, { keeping: 'shared' })
  const file = eventsFile(ref)
  await assert(
    asyncProperty(array(anyRequest, { minLength: 1, maxLength: 6 }), nat(), async (events, at) => {
      writeFileSync(file, '')
      const writer = await openConversation(shelf, ref, { wait: 0 })
      await writer.append(events)
      await writer.close()
      const whole = readFileSync(file)
      const cut = at % (whole.length + 1)
      truncateSync(file, cut)
      // Complete is: up to its closing brace. The newline after it may be missing.
      const left = whole.toString('utf8', 0, cut).split('\n')
      const texts = events.map((event) => (event as { text: string }).text)
      const complete = texts.filter((_, i) => left[i] === JSON.stringify(events[i]))
      expect(await textsOf(ref)).toEqual(complete)
      const second = await openConversation(shelf, ref, { wait: 0 })
      await second.append([{ kind: 'request', at: 't', text: 'more', resources: [] }])
      await second.close()
      expect(await textsOf(ref)).toEqual([...complete, 'more'])
    }),
    { numRuns: 60 },
  )
})

test('SPEC 6.1 what was hidden passes the door, whatever was around it', () => {
  const paths = constantFrom('/root', '/home/ann', '/home/ann/src/p', '/home/ann/src', '/h/x.y+z', '/')
  const piece = oneof(paths, anyText, constantFrom('/', '.', '~', 'a', '-I', 'file://', '_', '/home', '/ann'))
  const text = array(piece, { maxLength: 8 }).map((parts) => parts.join(''))
  assert(
    property(paths, paths, dictionary(text, array(text)), (root, home, value) => {
      const guard = new HostPaths({ root, homes: [home] })
      guard.assertAbsent(guard.hide(value))
    }),
    { numRuns: 2000 },
  )
})

test('text without a host path is not touched by hiding', () => {
  assert(
    property(anyText, (text) => {
      const guard = new HostPaths({ root: '/home/ann/p', homes: ['/home/ann'] })
      expect(guard.hide(text)).toBe(text.includes('/home/ann') ? guard.hide(text) : text)
    }),
  )
})

test('the checksum of inline content does not depend on how it is written down', () => {
  assert(
    property(anyText, (text) => {
      const blob = Buffer.from(text).toString('base64')
      expect(checksum({ uri: 'a', text })).toBe(checksum({ uri: 'b', blob }))
    }),
  )
})
