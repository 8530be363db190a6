import { type ConfigOrigin, type Path } from '../layers.ts'
import { type Document } from '../toml/document.ts'
import { type Mark } from '../toml/marks.ts'

/**
 * Where something was written. Its place in the text is looked up when somebody asks, and most are never asked
 * about: then a text is not even walked for places.
 */
export class Written {
  readonly document: Document
  private readonly above: Written | undefined
  private readonly key: string | number
  private mark: Mark | undefined

  private constructor(document: Document, above: Written | undefined, key: string | number) {
    this.document = document
    this.above = above
    this.key = key
    this.mark = undefined
  }

  static in(document: Document): Written {
    return new Written(document, undefined, '')
  }

  child(key: string | number): Written {
    return new Written(this.document, this, key)
  }

  below(path: Path): Written {
    return path.reduce<Written>((here, key) => here.child(key), this)
  }

  get origin(): ConfigOrigin {
    return this.document.origin(this.place())
  }

  get originText(): string {
    return this.document.originText(this.place())
  }

  /** What has no place of its own is where that is which holds it. A source that is no text has no places. */
  private place(): Mark | undefined {
    if (this.mark) return this.mark
    if (!this.above) return (this.mark = this.document.root)
    const above = this.above.place()
    const own = typeof this.key === 'number' ? above?.items?.[this.key] : above?.keys?.get(this.key)
    return (this.mark = own ?? above)
  }
}
