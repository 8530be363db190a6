import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Browser, Locator } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Command } from '../../src/commands.ts'
import { type Agent, content, send } from '../place.ts'
import { BrowserPlace, type Person } from './browser.ts'

/** What a person reads is what is signed for: in its order, the same to the end, and no words of ours taken for theirs. */
export function testReading(browser: Browser): void {
  let at: BrowserPlace
  let agent: Agent
  let person: Person
  beforeAll(async () => {
    at = await BrowserPlace.start(browser)
    agent = await at.place.agent('careful', ALL)
    person = await at.person()
    await person.register('Ada')
  })
  afterAll(() => at.close())
  afterEach(async () => {
    for (const { id, state } of await at.admin.approvals())
      if (state === 'open') await at.admin.decide(id, 'deny')
  })

  const ask = async (
    command: Command,
    args: object,
    body?: string,
  ): Promise<{ id: string; url: string; path: string }> => {
    const { error } = await send(agent, command, { ...args }, body === undefined ? {} : { body })
    return {
      id: String(error['approval']),
      url: String(error['url']),
      path: (args as { path: string }).path,
    }
  }
  const remove = (name: string): ReturnType<typeof ask> => {
    const path = join(at.place.files, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'x')
    return ask('/filesystem/file/delete', { path })
  }
  const create = (name: string, text: string): ReturnType<typeof ask> =>
    ask('/filesystem/file/create', { path: join(at.place.files, name), ...content(text) }, text)

  test('the attack: right-to-left letters put nothing into another order, in a path or a diff', async () => {
    const pictures: Buffer[] = []
    for (const name of ['one/אבג/2024', 'two/2024/אבג']) {
      await person.page.goto((await remove(name)).url)
      const target = person.page.locator('p.target .text')
      await target.waitFor()
      expect(await isInOrder(target)).toBe(true)
      await target.evaluate((drawn) => {
        const text = drawn.lastChild!
        text.textContent = text.textContent!.replace(/^.*\/(?:one|two)\//, '') // what differs, and nothing else
      })
      pictures.push(await target.screenshot())
    }
    expect(pictures[0]!.equals(pictures[1]!)).toBe(false)
    await person.page.goto((await create('a.sh', 'אב = 1 - 2\nallow = "אבג", 1, "דהו"\n# علم\n')).url)
    const lines = person.page.locator('.diff .text')
    await lines.first().waitFor()
    expect(await lines.count()).toBe(4)
    for (const line of await lines.all()) expect(await isInOrder(line)).toBe(true)
  })

  test('the attack: whoever swaps what the page shows for what is really asked gets no signature', async () => {
    const { id, url, path } = await remove('precious')
    let isHonest = false
    await person.page.route(`**/console/api/approvals/${id}`, async (route) => {
      if (isHonest) return route.continue()
      const response = await route.fetch()
      const told = (await response.json()) as { request: object }
      const request = { ...told.request, path: path.replace('precious', 'tmp-file') }
      await route.fulfill({ response, json: { ...told, request } })
    })
    await person.page.goto(url)
    await person.page.locator('p.target', { hasText: 'tmp-file' }).waitFor()
    isHonest = true
    await remove('other') // the page loads again
    const notice = person.page.getByText('This page was told two different things about one request')
    await notice.waitFor()
    expect(await person.page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await person.page.getByText(`cordon provider approve ${id}`).waitFor()
    // Nor by the way of the list, or once he shows the first one again.
    await person.page.locator('nav a[href="/console/approvals"]').click()
    await person.page.locator('a', { hasText: 'precious' }).first().click()
    await notice.waitFor()
    isHonest = false
    await remove('another')
    await person.page.getByLabel('3 waiting').waitFor()
    expect(await person.page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    expect((await at.admin.approval(id))!.state).toBe('open')
    await person.page.unrouteAll({ behavior: 'wait' })
  })

  test('sentences of ours keep their blanks; the names in them are shown as what they are', async () => {
    const text = (where: Locator): Promise<string> => where.innerText()
    const { id, path } = await remove('odd ')
    await at.admin.decide(id, 'deny')
    await at.admin.mint('careful', { prefix: at.place.files })
    await person.open('/console/audit')
    const rows = person.page.locator('.trail summary .what')
    const about = rows.filter({ hasText: 'approval denied' }).first()
    await about.waitFor()
    expect((await text(about)).split('\n')).toEqual([
      'approval denied, by the test',
      `careful: delete a file, ${path.slice(0, -1)}\\u{20}`,
    ])
    expect(await text(rows.filter({ hasText: 'delegation minted' }).first())).toContain(
      `prefix ${at.place.files}, cid `,
    )
    await ask('/filesystem/file/move', { path, destination: join(at.place.files, 'there') })
    await person.open('/console/approvals')
    const row = person.page.locator('.waiting .what')
    await row.waitFor()
    expect((await text(row)).split('\n').slice(1)).toEqual([
      `${path.slice(0, -1)}\\u{20}`,
      `to ${at.place.files}/there`,
    ])
    await person.open('/console/policies')
    await person.page.getByLabel('Where').fill('/somewhere/else')
    await person.click('Decide')
    const refused = person.page.locator('.notice', { hasText: 'Denied' })
    await refused.waitFor()
    expect(await text(refused)).toContain(`the delegation is for ${at.place.files}`)
  })

  test('a long diff opens with its beginning and says what is not shown yet; a page that waits does not draw it again', async () => {
    const lines = 30_000
    await person.page.goto((await create('long', 'x\n'.repeat(lines))).url)
    const drawn = person.page.locator('.diff code')
    await drawn.first().waitFor()
    const shown = await drawn.count()
    expect(shown).toBeLessThanOrEqual(2000)
    const left = (lines + 1 - shown).toLocaleString('en') // with the line that says where
    await person.page.locator('.answer').getByText(`Not shown yet, see “Show all”: ${left} lines`).waitFor()
    await person.click(`Show all ${(lines + 1).toLocaleString('en')} lines`)
    await expect.poll(() => drawn.count()).toBe(lines + 1)
    expect(await person.page.locator('.answer').getByText('Not shown yet').count()).toBe(0)
    // The clock goes on, and these lines are not made again.
    await person.page.evaluate(() => {
      const { map } = Array.prototype
      Object.assign(globalThis, { made: 0 })
      Reflect.set(Array.prototype, 'map', function (this: unknown[], ...args: Parameters<typeof map>) {
        Object.assign(globalThis, { made: (globalThis as unknown as { made: number }).made + this.length })
        return map.apply(this, args)
      })
    })
    const timer = person.page.getByRole('timer')
    for (let i = 0; i < 2; i++) {
      const before = await timer.innerText()
      await expect.poll(() => timer.innerText()).not.toBe(before)
    }
    const made = await person.page.evaluate(() => (globalThis as unknown as { made: number }).made)
    expect(made).toBeLessThan(lines)
  })
}

/** Each letter stands to the right of the one before it, or in a line below. */
const isInOrder = (drawn: Locator): Promise<boolean> =>
  drawn.evaluate((element) => {
    const places: DOMRect[] = []
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (let i = 0; i < node.textContent!.length; i++) {
        const letter = document.createRange()
        letter.setStart(node, i)
        letter.setEnd(node, i + 1)
        places.push(letter.getBoundingClientRect())
      }
    return places.every(({ left, top }, i) => {
      const before = places[i - 1]
      return !before || top >= before.bottom || left > before.left
    })
  })

const ALL = 'permit (principal, action, resource) when { context has cosigner && context.cosigner };'
