/** SPEC 4.10, Cordon's own files of a workspace: of its root and of each directory down to the current one. */
export const OWN_NAMES: readonly string[] = ['.cordon', '.cordon.toml']

/** Held, and not looked through for links: clones of whole repositories lie there. */
export const NOT_SEARCHED: ReadonlySet<string> = new Set(['.claude/plugins', '.yarn/releases'])

const withEndings = (names: readonly string[], endings: readonly string[]): readonly string[] =>
  names.flatMap((name) => endings.map((ending) => `${name}.${ending}`))

/** SPEC 4.10: what the host runs, or obeys, by itself later, wherever people work. Git's own files are in git.ts. */
export const RUN_LATER: readonly string[] = [
  // What runs at a commit, and what other version control obeys (decision 0338).
  '.gitmodules',
  '.husky',
  '.pre-commit-config.yaml',
  '.lefthook',
  '.lefthook-local',
  ...withEndings(
    ['lefthook', '.lefthook', 'lefthook-local', '.lefthook-local'],
    ['yml', 'yaml', 'toml', 'json', 'jsonc'],
  ),
  '.hg/hgrc',
  '.hg/requires',
  '.hg/sharedpath',
  '.hg/hgrc-not-shared',
  '.jj/repo/config.toml',
  '.jj/workspace-config.toml',
  // What a prompt obeys in a directory, and which programs stand behind a name there.
  '.envrc',
  ...withEndings(['mise', 'mise.local', '.mise', '.mise.local'], ['toml']),
  'mise/config.toml',
  '.mise/config.toml',
  '.config/mise.toml',
  '.config/mise',
  '.tool-versions',
  // What package managers load before they do anything.
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.yarn/releases',
  '.yarn/plugins',
  '.pnpmfile.cjs',
  '.pnpmfile.mjs',
  'bunfig.toml',
  '.bunfig.toml',
  // Editors: tasks, language servers, what is loaded with a file, and what a container's description starts on the host.
  '.vscode',
  '.idea',
  '.zed',
  '.helix',
  '.exrc',
  '.vimrc',
  '.nvimrc',
  '.nvim.lua',
  '.dir-locals.el',
  '.dir-locals-2.el',
  '.devcontainer',
  '.devcontainer.json',
  // Agents: servers, hooks, plug-ins, and commands with programs in them (decision 0263). Text for the model is not here.
  '.mcp.json',
  '.cursor/mcp.json',
  '.cursor/hooks.json',
  '.cursor/hooks',
  '.cursor/worktrees.json',
  '.cursor/environment.json',
  '.cursor/cli.json',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/commands',
  '.claude/agents',
  '.claude/skills',
  '.claude/hooks',
  '.claude/plugins',
  '.claude/workflows',
  '.claude/launch.json',
  '.claude/scheduled_tasks.json',
  '.agents/skills',
  '.codex/config.toml',
  '.codex/hooks.json',
  '.codex/.env',
  '.gemini/settings.json',
  '.gemini/.env',
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
  '.roo/mcp.json',
  '.kiro/settings/mcp.json',
  '.kiro/hooks',
  '.kiro/agents',
  '.amazonq/mcp.json',
  '.amazonq/cli-agents',
  '.aider.conf.yml',
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

/**
 * SPEC 4.10: the same of a person's home alone, where the desktop, the service manager, the shells and whoever types a name look.
 * Elsewhere `bin` is a directory of sources. What `RUN_LATER` has below `.config` is in the home, too (decision 0470).
 */
export const RUN_LATER_AT_HOME: readonly string[] = [
  ...RUN_LATER.filter((name) => name.startsWith('.config/')),
  // What starts with a session.
  '.config/autostart',
  '.config/autostart-scripts',
  '.config/plasma-workspace',
  '.config/systemd',
  '.local/share/systemd',
  '.config/environment.d',
  '.local/share/dbus-1',
  '.local/share/applications',
  '.pam_environment',
  '.xprofile',
  '.xinitrc',
  '.xsession',
  '.xsessionrc',
  'Library/LaunchAgents',
  // Programs that are found by their name.
  'bin',
  '.local/bin',
  '.cargo/bin',
  '.bun/bin',
  '.deno/bin',
  '.npm-global/bin',
  'go/bin',
]

/**
 * The same, of the home, for links that lead from there into a place that may be written: people keep such files in a repository.
 * Programs that many use obey them, or run what they name; what really is in the home is not meant.
 */
export const OBEYED_FROM_HOME: readonly string[] = [
  ...['config', 'config.d', 'rc', 'environment', 'authorized_keys', 'authorized_keys2'].map(
    (name) => `.ssh/${name}`,
  ),
  ...['gpg.conf', 'gpg-agent.conf'].map((name) => `.gnupg/${name}`),
  // Terminals and shells.
  '.tmux.conf',
  '.tmux',
  '.screenrc',
  '.inputrc',
  '.wezterm.lua',
  '.zsh',
  '.bashrc.d',
  '.bash_completion',
  '.oh-my-zsh/custom',
  '.direnvrc',
  // Editors.
  '.vim',
  '.gvimrc',
  '.emacs',
  '.emacs.el',
  '.emacs.d',
  '.nanorc',
  // Interpreters, debuggers, and clients that run commands.
  '.gdbinit',
  '.lldbinit',
  '.pdbrc',
  '.irbrc',
  '.pryrc',
  '.Rprofile',
  '.psqlrc',
  '.sqliterc',
  '.mailcap',
  '.hgrc',
  '.curlrc',
  '.wgetrc',
  // What build tools load, and what names helpers for credentials.
  '.cargo/config.toml',
  '.cargo/config',
  '.cargo/env',
  '.gradle/init.gradle',
  '.gradle/init.d',
  '.gradle/gradle.properties',
  '.m2/settings.xml',
  '.docker/config.json',
  '.kube/config',
  '.aws/config',
  ...(
    'tmux nvim vim emacs nano helix kak micro zed Code/User VSCodium/User Cursor/User ' +
    'direnv zsh bash nushell powershell starship.toml alacritty kitty wezterm ghostty foot ' +
    'i3 sway hypr awesome bspwm sxhkd polybar waybar gdb hg jj lazygit ranger lf yazi mpv'
  )
    .split(' ')
    .map((name) => `.config/${name}`),
]

/** What of a git directory, beside `hooks`, names programs, another directory with such files, or where `git push` goes. */
export const GIT_NAMES: readonly string[] = ['config', 'config.worktree', 'gitdir', 'remotes', 'branches']

/**
 * What waits to be continued: the list of a rebase may hold `exec` lines, and the options of a cherry-pick name a strategy, which is a
 * program. One of the command's own begins and ends in these directories.
 */
export const GIT_WAITING: readonly string[] = ['rebase-merge', 'rebase-apply', 'sequencer']

/** Repositories whose objects git uses: of each it lists the refs when it fetches, under its configuration. */
export const GIT_ALTERNATES = 'objects/info/alternates'

/** Settings whose value is a command that git runs without being asked for it. */
export const GIT_PROGRAMS =
  /^(?:core\.(?:fsmonitor|sshcommand|askpass|editor|pager|gitproxy|alternaterefscommand)|sequence\.editor|filter\..*\.(?:clean|smudge|process)|diff\.(?:external|.*\.(?:textconv|command))|merge\..*\.driver|(?:gpg|gpg\..*)\.program|gpg\.ssh\.defaultkeycommand|hook\..*\.command|trailer\..*\.(?:command|cmd)|submodule\..*\.update|remote\..*\.(?:uploadpack|receivepack)|credential\.(?:.*\.)?helper|interactive\.difffilter|gc\.recentobjectshook|uploadpack\.packobjectshook|sendemail\.(?:.*\.)?smtpserver|tar\..*\.command|lfs\.customtransfer\..*\.path|lfs\.extension\..*\.(?:clean|smudge)|pager\..*)$/s
