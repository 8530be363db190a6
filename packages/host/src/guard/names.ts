/** SPEC 4.10, Cordon's own files of a workspace: of its root and of each directory down to the current one. */
export const OWN_NAMES: readonly string[] = ['.cordon', '.cordon.toml']

/** SPEC 4.10: what the host runs, or obeys, by itself later, wherever people work. Git's own files are in git.ts. */
export const RUN_LATER: readonly string[] = [
  '.gitmodules',
  '.husky',
  '.envrc',
  '.npmrc',
  // Editors: tasks, language servers, and what a container's description starts on the host.
  '.vscode',
  '.idea',
  '.zed',
  '.devcontainer',
  '.devcontainer.json',
  // Agents: servers, hooks, plug-ins, and commands with programs in them (decision 0263). Text for the model is not here.
  '.mcp.json',
  '.cursor/mcp.json',
  '.cursor/hooks.json',
  '.cursor/hooks',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/commands',
  '.claude/agents',
  '.claude/skills',
  '.claude/hooks',
  '.codex/config.toml',
  '.codex/hooks.json',
  '.gemini/settings.json',
  '.gemini/commands',
  '.gemini/extensions',
  '.gemini/hooks',
  'opencode.json',
  'opencode.jsonc',
  '.opencode/opencode.json',
  '.opencode/opencode.jsonc',
  '.opencode/plugin',
  '.opencode/plugins',
  '.opencode/tool',
  '.opencode/tools',
  '.opencode/command',
  '.opencode/commands',
  '.github/hooks',
  '.github/copilot',
  '.github/extensions',
  '.github/mcp.json',
  '.copilot/hooks',
  '.copilot/extensions',
  '.windsurf/hooks.json',
  // Shells and git.
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.kshrc',
  '.cshrc',
  '.tcshrc',
  '.login',
  '.config/fish',
  '.gitconfig',
  '.config/git',
]

/** What of a git directory, beside `hooks`, names programs, another directory with such files, or where `git push` goes. */
export const GIT_NAMES: readonly string[] = [
  'config',
  'config.worktree',
  'commondir',
  'gitdir',
  'remotes',
  'branches',
]

/** A rebase that waits: its list may hold `exec` lines. A rebase of the command's own begins and ends in this directory. */
export const GIT_REBASE = 'rebase-merge'

/** Settings whose value is a command that git runs without being asked for it. */
export const GIT_PROGRAMS =
  /^(?:core\.(?:fsmonitor|sshcommand|askpass|editor|pager|gitproxy|alternaterefscommand)|sequence\.editor|filter\..*\.(?:clean|smudge|process)|diff\.(?:external|.*\.(?:textconv|command))|merge\..*\.driver|(?:gpg|gpg\..*)\.program|gpg\.ssh\.defaultkeycommand|hook\..*\.command|trailer\..*\.(?:command|cmd)|submodule\..*\.update|remote\..*\.(?:uploadpack|receivepack)|credential\.(?:.*\.)?helper|interactive\.difffilter|pager\..*)$/s
