/* The launcher (docs/sandbox.md). What it does is said by the name it is started under, because its arguments may be
 * anybody's:
 *
 *   cordon-launch  the plan comes in on STATUS_FD, and what happened goes out on it
 *   cordon-probe   says what this kernel can do
 *
 *   host ── supervisor (this) ── pid 1 of the sandbox ── the tool
 *
 * Each dies with its parent, so nothing survives the host (SPEC 4.3). */
#include "launcher.h"

#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The host may have died between starting us and our asking to die with it: we are somebody else's child then, and its
 * socket, if it gave us one, is closed. */
static int
host_lives (const struct plan *plan)
{
  struct pollfd socket = { .fd = STATUS_FD, .events = POLLRDHUP };
  int index;
  const struct item *host = plan_find (plan, TAG_HOST, &index);

  return poll (&socket, 1, 0) == 0 && (host == NULL || syscall (SYS_getppid) == (long) host->arg);
}

static int
serve_host (void)
{
  static struct relay relays[RELAYS];
  unsigned char *bytes;
  size_t size;
  struct plan plan;
  struct streams streams;
  int err, child, status, item = NO_ITEM;

  for (int i = 0; i < RELAYS; i++)
    relays[i].from = -1;
  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  err = plan_read (STATUS_FD, &bytes, &size);
  if (err == 0)
    err = plan_parse (bytes, size, &plan, &item);
  if (err)
    die_at (STEP_PLAN, item, err);
  if (!host_lives (&plan))
    return EXIT_LAUNCHER;
  streams_keep (&streams);
  signal (SIGPIPE, SIG_IGN);
  if (plan.flags & FLAG_KEEP_ERRORS && relay_open (&relays[0], STDERR_FILENO, plan.flags & FLAG_KEEP_OUTPUT))
    die_at (STEP_FORK, NO_ITEM, errno);
  if (plan.flags & FLAG_KEEP_OUTPUT_APART && relay_open (&relays[1], STDOUT_FILENO, 0))
    die_at (STEP_FORK, NO_ITEM, errno);
  child = start (&plan, relays);
  if (child < 0)
    return EXIT_LAUNCHER;
  /* Only pid 1 uses it; when that closes it, the host sees that no more will come. */
  if (plan_find (&plan, TAG_LISTEN, &item))
    close (HANDLE_FD);
  status = wait_for (child, relays, &plan);
  streams_restore (&streams);
  terminal_return (WIFEXITED (status) ? WEXITSTATUS (status) : 0);
  /* How the tool ended, pid 1 has reported, unless it was itself killed and the tool with it. */
  if (WIFSIGNALED (status))
    report_exit (status);
  report_said (relays);
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
  return strcmp (argv[0], "cordon-launch") == 0 ? serve_host () : EXIT_LAUNCHER;
}
