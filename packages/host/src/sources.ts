import { LAYERS, type Source } from '@cordon/config'
import { type EditableLayer } from './project.ts'

/** The text of a layer's file; empty when there is no such file yet. */
export function textOf(sources: readonly Source[], layer: EditableLayer): string {
  const source = sources.find((other) => other.layer === layer)
  return source && 'text' in source ? source.text : ''
}

/** The sources as they would be with another text in the layer's file. */
export function withText(sources: readonly Source[], layer: EditableLayer, text: string): readonly Source[] {
  const at = sources.findIndex((source) => source.layer === layer)
  const source = sources[at]
  if (source && 'text' in source) return sources.with(at, { ...source, text })
  const before = sources.filter((other) => LAYERS.indexOf(other.layer) < LAYERS.indexOf(layer))
  return [...before, { layer, label: layer, text }, ...sources.slice(before.length)]
}
