import type { ProviderView } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatList } from './text.ts'
import { wrapMessage } from './wrap.ts'

const SHOWN = 12

/** Each provider with its state; below it what it offers, as `--model` takes it. */
export function formatModels(
  providers: readonly ProviderView[],
  chosen: string | undefined,
  { style, columns }: Pick<Stream, 'style' | 'columns'>,
): string {
  const rows = providers.map(({ name, address, state, key, why, models }) => {
    const colour = state === 'ready' ? 'green' : 'dim'
    const shown = models.slice(0, SHOWN).map((model) => `  ${show(`${name}/${model}`)}\n`)
    const more = models.length - shown.length
    return {
      row: [
        style('bold', show(name)),
        style(colour, state),
        show(address),
        key === undefined ? '' : `key: ${show(key)}`,
        why === undefined ? '' : show(why),
      ],
      list: [...shown, ...(more > 0 ? [`  … and ${more} more; --json has all of them\n`] : [])].join(''),
    }
  })
  const lines = formatList(
    rows.map(({ row }) => row),
    columns,
  ).split(/(?<=\n)(?! )/)
  const body = rows.map(({ list }, i) => `${lines[i] ?? ''}${list}`).join('')
  const how =
    chosen === undefined
      ? ['no model is chosen', '  fix: cordon config set --user assistant.model PROVIDER/MODEL']
      : [`assistant.model is ${show(chosen)}`]
  return `${body}${wrapMessage(how, { indent: '  ', columns }).join('\n')}\n`
}
