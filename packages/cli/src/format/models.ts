import type { ProviderView } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './text.ts'

const SHOWN = 12

/** Each provider with its state; below it what it offers, as `--model` takes it. */
export function formatModels(
  providers: readonly ProviderView[],
  chosen: string | undefined,
  { style }: Pick<Stream, 'style'>,
): string {
  const rows = providers.map(({ name, address, state, why, models }) => {
    const colour = state === 'ready' ? 'green' : 'dim'
    const shown = models.slice(0, SHOWN).map((model) => `  ${show(`${name}/${model}`)}\n`)
    const more = models.length - shown.length
    return {
      row: [
        style('bold', show(name)),
        style(colour, state),
        show(address),
        why === undefined ? '' : show(why),
      ],
      list: [...shown, ...(more > 0 ? [`  … and ${more} more; --json has all of them\n`] : [])].join(''),
    }
  })
  const lines = formatTable(rows.map(({ row }) => row)).split(/(?<=\n)/)
  const body = rows.map(({ list }, i) => `${lines[i] ?? ''}${list}`).join('')
  const how =
    chosen === undefined
      ? 'no model is chosen: cordon config set --user assistant.model PROVIDER/MODEL'
      : `assistant.model is ${show(chosen)}`
  return `${body}${how}\n`
}
