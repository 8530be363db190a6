import type { ToolConfig } from '@cordon/config'
import type { LocalTool } from '../../src/execute/tool.ts'

/** A tool that exists only as data. */
export const toolWith = (config: Partial<ToolConfig>): LocalTool => ({
  name: 't',
  description: undefined,
  parameters: undefined,
  command: ['true'],
  own: [],
  shipped: false,
  config: {
    enable: true,
    source: { kind: 'local' },
    run: 'ask',
    runIsWritten: true,
    result: 'unattended',
    options: {},
    questions: {},
    timeout_secs: 200,
    max_output_bytes: 1024,
    ...config,
  },
})
