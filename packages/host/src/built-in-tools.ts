import { type Source } from '@cordon/config'

/** The tools that are there without any configuration (SPEC 1.8): local ones, which check themselves. */
export const BUILT_IN_TOOLS: Source = {
  layer: 'built-in',
  label: 'built-in tools',
  text: `
[conversation.tools.fs_read_file]
source = "local"
description = "Read a file, or a range of it."

[conversation.tools.fs_list_files]
source = "local"
description = "List files and directories."

[conversation.tools.fs_grep_files]
source = "local"
description = "Search files for a regular expression."

[conversation.tools.fs_create_file]
source = "local"
description = "Create a file, or replace it."

[conversation.tools.fs_modify_file]
source = "local"
description = "Change files, all or none."

[conversation.tools.fs_delete_file]
source = "local"
description = "Delete a file."

[conversation.tools.fs_move_file]
source = "local"
description = "Move a file."

[conversation.tools.unix_utils]
source = "local"
description = "Run one of the classic text utilities."
`,
}
