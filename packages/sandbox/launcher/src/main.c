/* The launcher (docs/sandbox.md). What it does is said by the name it is started under, because its arguments may be
 * anybody's:
 *
 *   cordon-launch  for a host that waits: the plan comes in on STATUS_FD, and what happened goes out on it
 *   cordon         in the place of the host (standin.h)
 *   cordon-probe   says what this kernel can do
 *
 *   host ── supervisor (this) ── pid 1 of the sandbox ── the tool
 *
 * Each dies with its parent, so nothing survives the host (SPEC 4.3). */
#include "environment.h"
#include "plan.h"
#include "probe.h"
#include "report.h"
#include "standin.h"
#include "start.h"
#include "terminal.h"
#include "wait.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The host may have died between starting us and our asking to die with it; its socket is closed then. */
static int
host_lives (void)
{
  struct pollfd host = { .fd = STATUS_FD, .events = POLLRDHUP };
  return poll (&host, 1, 0) == 0;
}

static int
serve_host (void)
{
  unsigned char *bytes;
  size_t size;
  struct plan plan;
  int err, child, status, item = NO_ITEM;

  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  err = plan_read (STATUS_FD, &bytes, &size);
  if (err == 0)
    err = plan_parse (bytes, size, &plan, &item);
  if (err)
    die_at (STEP_PLAN, item, err);
  if (!host_lives ())
    return EXIT_LAUNCHER;
  child = start (&plan, NULL);
  if (child < 0)
    return EXIT_LAUNCHER;
  /* Only pid 1 uses it; when that closes it, the host sees that no more will come. */
  if (plan_find (&plan, TAG_LISTEN, &item))
    close (HANDLE_FD);
  status = wait_for (child, SIGNALS_SENT, NULL);
  terminal_return (0);
  /* How the tool ended, pid 1 has reported, unless it was itself killed and the tool with it. */
  if (WIFSIGNALED (status))
    report_exit (status);
  return status == 0 ? 0 : EXIT_LAUNCHER;
}

int
main (int argc, char **argv)
{
  if (argc < 1)
    return EXIT_LAUNCHER;
  if (strcmp (argv[0], "cordon-probe") == 0)
    return probe ();
  signals_block ();
  environment_find (argv);
  if (strcmp (argv[0], "cordon-launch") == 0)
    return serve_host ();
  if (strcmp (argv[0], "cordon") == 0)
    stand_in (argv + 1);
  return EXIT_LAUNCHER;
}
