/** SPEC 2, issue 3: a config of 5,000 lines loads in at most three times the time of parsing it alone. */
import { mergeSources } from '@cordon/config'
import { parse } from 'smol-toml'

const text = configOfLines(5_000)
const source = { layer: 'workspace', label: '.cordon/config.toml', text } as const

const first = once(() => mergeSources([source]))
const parsing = median(() => parse(text))
const loading = median(() => mergeSources([source]))
console.log(`config of ${text.split('\n').length} lines, ${Math.round(text.length / 1024)} KiB`)
console.log(
  `  parse alone ${parsing.toFixed(2)} ms, load ${loading.toFixed(2)} ms (the first one ${first.toFixed(1)} ms)`,
)
console.log(`  ratio ${(loading / parsing).toFixed(2)} (bound 3)`)
if (loading > 3 * parsing) process.exitCode = 1

/** What people write: tools with settings, rules in both spellings, servers, comments. */
function configOfLines(lines: number): string {
  const out: string[] = ['# generated', '[sandbox]', 'mode = "warn"', '']
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

function once(work: () => unknown): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

/** Both sides are measured warm, in one process. */
function median(work: () => unknown): number {
  const times = Array.from({ length: 150 }, () => once(work)).slice(50)
  return times.toSorted((a, b) => a - b)[times.length >> 1]!
}
