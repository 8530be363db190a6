import { type CanonicalPath, type RelPath, ROOT } from '@cordon/policy'
import { Anchor } from './anchor.ts'
import { type Directory } from './directory.ts'
import { fileError, WrongKind } from './errors.ts'
import { ExactDirectory, exactIsAvailable } from './exact.ts'
import { DiskDirectory, type DiskOptions } from './kernel-filesystems.ts'
import { VerifiedDirectory } from './verified.ts'

/**
 * Uses the process's authority once, to reach the directory; everything after goes by the handle. `path` may also be
 * a file, as the target of a mount is now and then: then its directory is held and only that file is there.
 */
export function openAmbientAnchor(path: CanonicalPath, shownAs: RelPath = ROOT): Anchor {
  try {
    return new Anchor(openDirectory(path), { shownAs })
  } catch (error) {
    if (!(error instanceof WrongKind) || error.kind !== 'file')
      throw fileError(error, { operation: 'open', path })
    return openAmbientFile(path, shownAs)
  }
}

/** A directory, and nothing of the kernel (`/proc`, `/sys`, …) is entered, wherever it is mounted (SPEC 7.3). */
export function openAmbientDiskAnchor(path: CanonicalPath, options: DiskOptions = {}): Anchor {
  try {
    return new Anchor(new DiskDirectory(openDirectory(path), options))
  } catch (error) {
    throw fileError(error, { operation: 'open', path })
  }
}

function openAmbientFile(path: CanonicalPath, shownAs: RelPath): Anchor {
  const slash = path.lastIndexOf('/')
  try {
    return new Anchor(openDirectory(path.slice(0, slash) || '/'), { shownAs, only: path.slice(slash + 1) })
  } catch (error) {
    throw fileError(error, { operation: 'open', path }) // a directory above it is a file
  }
}

const openDirectory = (path: string): Directory =>
  exactIsAvailable() ? ExactDirectory.openAmbient(path) : VerifiedDirectory.openAmbient(path)
