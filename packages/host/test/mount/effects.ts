import { openAmbientAnchor } from '@cordon/files'
import { ApprovalStore, type LogWriter } from '@cordon/workspace'
import { shelfOf } from '../../src/conversation/open.ts'
import type { MountEffects } from '../../src/mount/apply.ts'
import { posixLinker } from '../../src/mount/linker.ts'
import type { Project } from '../../src/project.ts'

/** The real effects, with something that happens before each one that changes anything. */
export function watchedEffects(
  { root, workspace }: Project,
  writer: LogWriter,
  before: (effect: string) => void,
): MountEffects {
  const anchor = openAmbientAnchor(root.path)
  const { holder, now } = shelfOf(workspace, process)
  const store = new ApprovalStore(workspace, { holder, now, uid: process.getuid?.() })
  const linker = posixLinker(anchor)
  const first = <A extends unknown[], R>(effect: string, act: (...args: A) => R) => {
    return (...args: A): R => {
      before(`${effect} ${effect === 'append' ? '' : String(args[0])}`.trim())
      return act(...args)
    }
  }
  return {
    root,
    anchor: {
      mkdir: first('mkdir', (path) => anchor.mkdir(path)),
      rmdir: first('rmdir', (path) => anchor.rmdir(path)),
      symlink: first('symlink', (path, target) => anchor.symlink(path, target)),
      unlink: first('unlink', (path) => anchor.unlink(path)),
      readlink: (path) => anchor.readlink(path),
      stat: (path) => anchor.stat(path),
    },
    linker: { link: first('link', (name, target) => linker.link(name, target)) },
    store: {
      read: () => store.read(),
      approve: first('approve', (path, target) => store.approve(path, target)),
      revoke: first('revoke', (path) => store.revoke(path)),
    },
    append: first('append', (events) => writer.append(events)),
    now,
  }
}
