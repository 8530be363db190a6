#include "report.h"

#include <sys/wait.h>
#include <unistd.h>

const char *const step_name[STEP_COUNT] = {
  [STEP_PLAN] = "plan",
  [STEP_NAMESPACES] = "namespaces",
  [STEP_ID_MAP] = "id-map",
  [STEP_STAGE] = "stage",
  [STEP_DIR] = "dir",
  [STEP_FILE] = "file",
  [STEP_LINK] = "link",
  [STEP_CONTENT] = "content",
  [STEP_PRIVATE] = "private",
  [STEP_BIND] = "bind",
  [STEP_PIN_LINK] = "pin-link",
  [STEP_COVER] = "cover",
  [STEP_SECRETS] = "secrets",
  [STEP_SEAL] = "seal",
  [STEP_PROC] = "proc",
  [STEP_DEVPTS] = "devpts",
  [STEP_PIVOT] = "pivot",
  [STEP_LOOPBACK] = "loopback",
  [STEP_LISTEN] = "listen",
  [STEP_HAND_OVER] = "hand-over",
  [STEP_FORK] = "fork",
  [STEP_CWD] = "cwd",
  [STEP_NO_NEW_PRIVS] = "no-new-privs",
  [STEP_CAPABILITIES] = "capabilities",
  [STEP_CLOSE_FDS] = "close-fds",
  [STEP_SESSION] = "session",
  [STEP_LANDLOCK] = "landlock",
  [STEP_LANDLOCK_RULE] = "landlock-rule",
  [STEP_LIMIT] = "limit",
  [STEP_SECCOMP] = "seccomp",
  [STEP_EXEC] = "exec",
};

/* The plan's index, not the path: the host holds the string, so nothing needs escaping. */
void
report_failed (enum step step, int item, int err)
{
  dprintf (STATUS_FD, "failed %s item=%d errno=%d\n", step_name[step], item, err);
}

/* A half-built sandbox never runs the tool (SPEC 4.3). */
_Noreturn void
die_at (enum step step, int item, int err)
{
  report_failed (step, item, err);
  _exit (EXIT_LAUNCHER);
}

void
report_inside (int pid)
{
  dprintf (STATUS_FD, "inside pid=%d\n", pid);
}

void
report_exit (int status)
{
  if (WIFSIGNALED (status))
    dprintf (STATUS_FD, "exit signal=%d\n", WTERMSIG (status));
  else
    dprintf (STATUS_FD, "exit code=%d\n", WEXITSTATUS (status));
}

void
report_said (const struct relay *relays)
{
  /* An empty line before the first; between them one, because the other may not end with one. */
  for (int i = RELAYS - 1; i >= 0; i--)
    if (relays[i].end > 0 && write (STATUS_FD, "\n", 1) == 1)
      relay_write_tail (&relays[i], STATUS_FD);
}
