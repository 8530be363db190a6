import { existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'

test.each(PEOPLE)(
  'SPEC 4.3 the attack: no flag for start-up files, keys or Cordon’s own is suggested, as $name',
  (person) => {
    const place = new Place(person)
    const { stderr } = place.run([
      '--',
      'sh',
      '-c',
      'mkdir -p ~/.ssh ~/.config/cordon ~/.config/fish ~/.config/tool; for f in .ssh/authorized_keys .bashrc .config/cordon/config.toml .config/fish/config.fish .config/tool/x; do echo x > ~/$f; done',
    ])
    expect(stderr).toContain(
      '\n    to keep it, first: mkdir -p ~/.config/tool\n    to keep it: --write ~/.config/tool\n',
    )
    const delicate = /so no flag is named: (.*)\n/.exec(stderr)?.[1]?.split(', ').toSorted()
    expect(delicate).toEqual(['~/.bashrc', '~/.config/cordon', '~/.config/fish', '~/.ssh'])
    expect(existsSync(join(place.home, '.bashrc'))).toBe(false)
  },
)

test.each(['98', '98/ea'])(
  'SPEC 6.2 the attack: a clone whose blobs/%s leads elsewhere: nothing is written there',
  (link) => {
    const place = new Place()
    place.init()
    place.write('a.txt', 'hi\n')
    const target = place.mkdir(join(place.home, 'target'))
    const path = join(place.root, '.cordon/blobs', link)
    for (const dir of ['.', ...(link === '98' ? [] : ['98'])])
      place.mkdir(join(place.root, '.cordon/blobs', dir))
    symlinkSync(target, path)
    const ended = place.cordon(['attachment', 'add', 'a.txt'])
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain(`/.cordon/blobs/${link}: it is a symbolic link`)
    expect(readdirSync(target)).toEqual([])
  },
)
