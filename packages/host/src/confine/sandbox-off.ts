import { formatOrigin, type LoadedConfig } from '@cordon/config'

/**
 * SPEC 4.11: said before anything runs, by whoever starts something. Only a person can turn the sandbox off (SPEC 2.1); they
 * are reminded all the same. `who`: what runs so.
 */
export function sandboxOff(
  { config, explain }: Pick<LoadedConfig, 'config' | 'explain'>,
  who: 'the command runs' | 'tools and servers run',
): readonly string[] {
  const origin = explain(['sandbox', 'mode'])?.origin
  if (config.sandbox.mode !== 'off' || !origin) return []
  return [`the sandbox is off (sandbox.mode = "off" at ${formatOrigin(origin)}): ${who} with all your rights`]
}
