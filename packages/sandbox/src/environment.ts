import { type AccessPolicy, EnvIndex, isMinimalEnv } from '@cordon/policy'

/** SPEC 4.6: variables that make a program load or run something: only a rule with their exact name grants them. */
const LOADING = [
  /^LD_/,
  /^DYLD_/,
  /^GLIBC_TUNABLES$/,
  /^GCONV_PATH$/,
  /^LOCPATH$/,
  /^NODE_(?:OPTIONS|PATH|REPL_EXTERNAL_MODULE|CHANNEL_.*)$/,
  /^(?:BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|BASH_FUNC_.*|IFS|CDPATH|GLOBIGNORE)$/,
  /^PYTHON(?:PATH|HOME|STARTUP|INSPECT|BREAKPOINT|USERBASE|WARNINGS)$/,
  /^PERL(?:5LIB|5OPT|LIB|5DB|IO)$/,
  /^RUBY(?:LIB|OPT)$/,
  /^(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH)$/,
  /^(?:RUSTC_WRAPPER|RUSTFLAGS|CARGO_BUILD_RUSTC_WRAPPER)$/,
  /^GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND|ASKPASS|EDITOR|SEQUENCE_EDITOR|PAGER|EXEC_PATH|TEMPLATE_DIR|CONFIG.*)$/,
  /^(?:EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|MANPAGER|SSH_ASKPASS|SUDO_ASKPASS)$/,
]

/**
 * SPEC 4.6: the environment, cleared and rebuilt. Pure. An explicit `read = false` removes even a minimal variable; a
 * prefix rule never brings in one that makes programs load code.
 */
export function buildEnvironment(
  policy: AccessPolicy,
  host: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const index = new EnvIndex(policy.env)
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(host)) {
    if (value === undefined || value.includes('\0')) continue
    const decision = index.evaluate(name)
    const exact = decision.kind !== 'unmatched' && decision.rule.name === name
    const wanted =
      decision.kind === 'unmatched'
        ? isMinimalEnv(name)
        : decision.kind === 'allowed' && (exact || !makesLoad(name))
    if (wanted) kept[name] = value
  }
  return kept
}

const makesLoad = (name: string): boolean => LOADING.some((pattern) => pattern.test(name))
