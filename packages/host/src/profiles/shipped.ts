import type { Source } from '@cordon/config'

/**
 * SPEC 4.8: the profiles that come with Cordon, as a person would write them below `[profiles.<name>]`. Places are those
 * where each program keeps its login and state; hosts are those that its documentation names (docs/agents.md). What a
 * program runs or obeys when it is started without Cordon (its own newer versions, helpers, servers, hooks, plug-ins, what it
 * may do unasked) is read-only here where it is a file or directory of its own, also while it is missing (decisions 0450 and
 * 0451). A slash at the end: the program makes it anyway, or is not bothered by an empty one.
 */
const SHIPPED: Readonly<Record<string, string>> = {
  claude: `description = "Claude Code: its login and state, its hosts"
outside = [
  { path = "~/.claude/", read = true, write = true },
  { path = "~/.claude/local", read = true, execute = true },
  { path = "~/.claude/chrome", read = true },
  { path = "~/.claude/daemon.json", read = true },
  { path = "~/.claude/jobs", read = true },
  { path = "~/.claude/workflows", read = true },
  { path = "~/.claude/remote-settings.json", read = true },
  { path = "~/.claude/remote-settings-consent.json", read = true },
  { path = "~/.claude.json", read = true, write = true, replace = true },
]
access.net = [
  { host = "api.anthropic.com", allow = true },
  { host = "claude.ai", allow = true },
  { host = "platform.claude.com", allow = true },
  { host = "console.anthropic.com", allow = true },
  { host = "statsig.anthropic.com", allow = true },
]
access.env = [
  { name = "ANTHROPIC_*", read = true },
  { name = "CLAUDE_*", read = true },
  { name = "COLORTERM", read = true },
]
`,
  codex: `description = "Codex CLI: its login and sessions, its hosts"
outside = [
  { path = "~/.codex/", read = true, write = true },
  { path = "~/.codex/config.toml", read = true },
  { path = "~/.codex/rules/", read = true },
  { path = "~/.codex/hooks", read = true },
  { path = "~/.codex/plugins", read = true },
  { path = "~/.codex/packages/", read = true, execute = true },
]
access.net = [
  { host = "api.openai.com", allow = true },
  { host = "auth.openai.com", allow = true },
  { host = "chatgpt.com", allow = true },
  { host = "ab.chatgpt.com", allow = true },
]
access.env = [
  { name = "OPENAI_*", read = true },
  { name = "CODEX_*", read = true },
  { name = "COLORTERM", read = true },
]
`,
  gemini: `description = "Gemini CLI: its login and history, its hosts"
outside = [
  { path = "~/.gemini/", read = true, write = true },
  { path = "~/.gemini/settings.json", read = true },
  { path = "~/.gemini/trustedFolders.json", read = true },
  { path = "~/.gemini/trusted_hooks.json", read = true },
  { path = "~/.gemini/policy_integrity.json", read = true },
  { path = "~/.gemini/policies/", read = true },
  { path = "~/.gemini/acknowledgments", read = true },
  { path = "~/.gemini/agents", read = true },
  { path = "~/.gemini/bin/", read = true, execute = true },
  { path = "~/.gemini/tmp/bin/", read = true, execute = true },
]
access.net = [
  { host = "generativelanguage.googleapis.com", allow = true },
  { host = "cloudcode-pa.googleapis.com", allow = true },
  { host = "oauth2.googleapis.com", allow = true },
  { host = "accounts.google.com", allow = true },
  { host = "www.googleapis.com", allow = true },
]
access.env = [
  { name = "GEMINI_*", read = true },
  { name = "GOOGLE_API_KEY", read = true },
  { name = "GOOGLE_CLOUD_PROJECT", read = true },
  { name = "COLORTERM", read = true },
]
`,
  opencode: `description = "opencode: its logins and sessions, its own hosts; add your model's with --allow-net"
outside = [
  { path = "~/.local/share/opencode/", read = true, write = true },
  { path = "~/.local/share/opencode/bin/", read = true, execute = true },
  { path = "~/.local/state/opencode/", read = true, write = true },
  { path = "~/.config/opencode", read = true },
]
access.net = [
  { host = "opencode.ai", allow = true },
  { host = "models.opencode.ai", allow = true },
  { host = "models.dev", allow = true },
]
access.env = [
  { name = "OPENCODE_*", read = true },
  { name = "COLORTERM", read = true },
]
`,
  copilot: `description = "GitHub Copilot CLI: its login and sessions, its hosts"
outside = [
  { path = "~/.copilot/", read = true, write = true },
  { path = "~/.copilot/mcp-config.json", read = true },
  { path = "~/.copilot/lsp-config.json", read = true },
  { path = "~/.copilot/permissions-config.json", read = true },
  { path = "~/.copilot/settings.json", read = true },
  { path = "~/.copilot/installed-plugins/", read = true },
  { path = "~/.copilot/pkg/", read = true, execute = true },
]
access.net = [
  { host = "api.github.com", allow = true },
  { host = "github.com", path_prefix = "/login", allow = true },
  { host = "api.githubcopilot.com", allow = true },
  { host = "api.individual.githubcopilot.com", allow = true },
  { host = "api.business.githubcopilot.com", allow = true },
  { host = "api.enterprise.githubcopilot.com", allow = true },
]
access.env = [
  { name = "COPILOT_*", read = true },
  { name = "GH_TOKEN", read = true },
  { name = "GITHUB_TOKEN", read = true },
  { name = "COLORTERM", read = true },
]
`,
  git: `description = "who you are to git: your own settings, to be read"
outside = [
  { path = "~/.gitconfig", read = true },
  { path = "~/.config/git/config", read = true },
  { path = "~/.config/git/ignore", read = true },
  { path = "~/.config/git/attributes", read = true },
]
access.env = [
  { name = "GIT_AUTHOR_*", read = true },
  { name = "GIT_COMMITTER_*", read = true },
]
`,
  npm: `description = "npm, pnpm and yarn: the registry; the cache is private, so that nothing installed here changes it"
access.net = [
  { host = "registry.npmjs.org", allow = true },
  { host = "registry.yarnpkg.com", allow = true },
]
`,
  pip: `description = "pip: the Python package index"
access.net = [
  { host = "pypi.org", allow = true },
  { host = "files.pythonhosted.org", allow = true },
]
`,
  uv: `description = "uv: the Python package index, and the interpreters that uv installs"
access.net = [
  { host = "pypi.org", allow = true },
  { host = "files.pythonhosted.org", allow = true },
  { host = "github.com", path_prefix = "/astral-sh", allow = true },
  { host = "release-assets.githubusercontent.com", allow = true },
]
`,
  cargo: `description = "cargo: crates.io"
access.net = [
  { host = "index.crates.io", allow = true },
  { host = "static.crates.io", allow = true },
  { host = "crates.io", allow = true },
]
`,
  go: `description = "go: the module mirror and its checksums"
access.net = [
  { host = "proxy.golang.org", allow = true },
  { host = "sum.golang.org", allow = true },
]
`,
  playwright: `description = "Playwright: the browsers it has installed, and unix sockets, which they need"
unix_sockets = "private"
outside = [{ path = "~/.cache/ms-playwright", read = true, execute = true }]
`,
}

export const SHIPPED_NAMES: readonly string[] = Object.keys(SHIPPED)

/** The text of one, under this or another name. */
export const shippedText = (name: string, under = name): string | undefined =>
  Object.hasOwn(SHIPPED, name) ? `[profiles.${under}]\n${SHIPPED[name]}` : undefined

/** As the first layer: what a person wrote for a profile of the same name adds to it. */
export const shippedProfiles = (names: readonly string[]): readonly Source[] =>
  names.flatMap((name): Source[] => {
    const text = shippedText(name)
    return text === undefined ? [] : [{ layer: 'built-in', label: `shipped profile ${name}`, text }]
  })
