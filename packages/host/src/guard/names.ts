/** SPEC 4.10, Cordon's own files of a workspace: of its root and of each directory down to the current one. */
export const OWN_NAMES: readonly string[] = ['.cordon', '.cordon.toml']

/** SPEC 4.10: what the host runs, or obeys, by itself later, wherever people work. Git's own files are in git.ts. */
export const RUN_LATER: readonly string[] = [
  '.gitmodules',
  '.husky',
  '.vscode',
  '.idea',
  '.envrc',
  '.npmrc',
  '.mcp.json',
  '.cursor/mcp.json',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/commands',
  '.claude/agents',
  '.claude/hooks',
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

/** What of a git directory, beside `hooks`, names programs, or another directory with such files. */
export const GIT_NAMES: readonly string[] = ['config', 'config.worktree', 'commondir', 'gitdir']

/** Settings whose value is a command that git runs without being asked for it. */
export const GIT_PROGRAMS =
  /^(?:core\.(?:fsmonitor|sshcommand|askpass|editor|pager|gitproxy|alternaterefscommand)|sequence\.editor|filter\..*\.(?:clean|smudge|process)|diff\.(?:external|.*\.(?:textconv|command))|merge\..*\.driver|(?:gpg|gpg\..*)\.program|credential\.(?:.*\.)?helper|interactive\.difffilter|pager\..*)$/s
