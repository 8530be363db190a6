/** SPEC 2, issue 3: a config of 5,000 lines loads in at most three times the time of parsing it alone. */
import { mergeSources } from '@cordon/config'
import { parse } from 'smol-toml'
import { compare } from './measure.ts'

function run(): void {
  const text = configOfLines(5_000)
  const source = { layer: 'workspace', label: '.cordon/config.toml', text } as const
  compare({
    title: `a config of ${text.split('\n').length} lines (${Math.round(text.length / 1024)} KiB)`,
    ours: { name: 'load, merge, validate', run: () => mergeSources([source]) },
    theirs: { name: 'smol-toml parse alone', run: () => parse(text) },
    atMost: 3,
    batch: 20,
  })
}

/** What people write: tools with settings, rules in both spellings, servers, comments. */
function configOfLines(lines: number): string {
  const out: string[] = ['# generated', '[sandbox.limits]', 'processes = 512', '']
  for (let i = 0; out.length < lines; i++) {
    out.push(
      `[conversation.tools.tool_${i}] # number ${i}`,
      'source = "local"',
      `command = ["python3", "tools/tool_${i}.py", "--fast"]`,
      'run = [{ arg = "/path", prefix = "src/", mode = "unattended" }]',
      `timeout_secs = ${10 + i}`,
      '',
      ...['.', 'src', `src/part_${i}`, '.env'].flatMap((path) => [
        `[[conversation.tools.tool_${i}.access.fs]]`,
        `path = "${path}"`,
        'read = true # as everywhere',
        'write = false',
        '',
      ]),
      `[conversation.tools.tool_${i}.access]`,
      'net = [',
      `  { host = "host-${i}.example.com", scheme = "https", allow = true },`,
      `  { host = "host-${i}.example.com", path_prefix = "/admin" },`,
      ']',
      'env = [{ name = "LANG", read = true }, { name = "AWS_*" }]',
      '',
    )
  }
  return out.join('\n')
}

run()
