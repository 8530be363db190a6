/**
 * Whether a word of a command line looks like something that must not be copied. A guess, on the careful side: who is wrongly
 * stopped can type the server in by hand, and what was copied cannot be taken back.
 */
export function looksSecret(word: string, before?: string): boolean {
  const [, option, value] = /^(?:--?)?([A-Za-z][\w-]*)=(.*)$/s.exec(word) ?? []
  if (option !== undefined && SECRET_OPTION.test(option)) return isValue(value ?? '')
  if (before !== undefined && /^--?[A-Za-z]/.test(before) && SECRET_OPTION.test(before)) return isValue(word)
  return PREFIXES.test(word) || hasPassword(word) || isDense(value ?? word)
}

const SECRET_OPTION = /(?:api-?_?key|token|secret|passw(?:or)?d|pwd|credential|auth|connection-?string)s?$/i

/** A path, a switch or a word such as `none` is no secret. */
const isValue = (text: string): boolean => text.length >= 6 && !/^[./~-]/.test(text)

/** What the well-known issuers start their tokens with. */
const PREFIXES =
  /(?:^|=)(?:sk-|rk_|pk_live|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ[A-Za-z0-9_-]{10}|npm_|pypi-|dop_v1_|hf_|lin_api_|ntn_|secret_|SG\.)/

const hasPassword = (text: string): boolean => /:\/\/[^/?#\s@]*:[^/?#\s@]+@/.test(text)

/** Long, without separators, with letters and digits: nobody types that by heart. A path or a package name is not. */
const isDense = (text: string): boolean =>
  /^[A-Za-z0-9+/_-]{32,}={0,2}$/.test(text) &&
  /\d/.test(text) &&
  /[A-Za-z]/.test(text) &&
  !/^[@/.]|\/.*\/|-.*-.*-.*-.*-.*-/.test(text)
