/* cordon-launch: the plan comes in on STATUS_FD, argv is the tool's. See docs/sandbox.md.
 *
 *   host ── supervisor (this) ── pid 1 of the sandbox ── the tool
 *
 * Each dies with its parent, so nothing survives the host (SPEC 4.3). */
#include "init.h"
#include "kernel.h"
#include "listen.h"
#include "namespaces.h"
#include "plan.h"
#include "probe.h"
#include "report.h"
#include "root.h"
#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The child may go on once its ids are mapped; an eventfd, because a pipe would wake it on the supervisor's processor,
 * which is busy then. The supervisor keeps its end of the pipe open for as long as it lives: if it died before we asked
 * to die with it, the pipe says so. */
static void
wait_for_supervisor (int mapped, int supervisor)
{
  eventfd_t value;
  struct pollfd either[2] = { { .fd = mapped, .events = POLLIN }, { .fd = supervisor } };
  if (poll (either, 2, -1) < 1 || either[1].revents != 0 || eventfd_read (mapped, &value))
    _exit (EXIT_LAUNCHER);
  close (mapped);
}

static _Noreturn void
sandbox (const struct plan *plan, char **argv, int mapped, int supervisor)
{
  /* After the fork: becoming another user namespace's root would have cleared it. */
  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  wait_for_supervisor (mapped, supervisor);
  if (plan->flags & FLAG_NAMESPACES)
    {
      root_enter (plan, supervisor);
      listen_and_hand_over (plan);
    }
  else
    close (supervisor);
  init_run (plan, argv);
}

static int
start (const struct plan *plan, char **argv)
{
  int pipe_fds[2], child, listening, err = 0, mapped = eventfd (0, EFD_CLOEXEC);
  int isolated = (plan->flags & FLAG_NAMESPACES) != 0;

  if (mapped < 0 || pipe2 (pipe_fds, O_CLOEXEC))
    die_at (STEP_FORK, NO_ITEM, errno);
  child = namespaces_fork (isolated ? ALL_NAMESPACES : 0);
  if (child < 0)
    die_at (isolated ? STEP_NAMESPACES : STEP_FORK, NO_ITEM, errno);
  if (child == 0)
    {
      close (pipe_fds[1]);
      sandbox (plan, argv, mapped, pipe_fds[0]);
    }
  close (pipe_fds[0]);
  /* Only pid 1 uses it; when that closes it, the host sees that no more will come. */
  if (plan_find (plan, TAG_LISTEN, &listening))
    close (HANDLE_FD);
  if (isolated)
    err = namespaces_map_ids (child);
  if (err)
    die_at (STEP_ID_MAP, NO_ITEM, err);
  if (eventfd_write (mapped, 1))
    die_at (STEP_FORK, NO_ITEM, errno);
  close (mapped);
  if (isolated)
    secrets_send (plan, pipe_fds[1]);
  return child;
}

/* Node announces its channel to the child in the environment; the tool has none. */
static void
forget_channel (void)
{
  unsetenv ("NODE_CHANNEL_FD");
  unsetenv ("NODE_CHANNEL_SERIALIZATION_MODE");
}

/* The host may have died between starting us and our asking to die with it; its socket is closed then. */
static int
host_lives (void)
{
  struct pollfd host = { .fd = STATUS_FD, .events = POLLRDHUP };
  return poll (&host, 1, 0) == 0;
}

int
main (int argc, char **argv)
{
  unsigned char *bytes;
  size_t size;
  struct plan plan;
  int err, status, item = NO_ITEM;

  /* By our own name and not by an argument: the arguments are the tool's, whatever they look like. */
  if (argc > 0 && strcmp (argv[0], "cordon-probe") == 0)
    return probe ();
  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  forget_channel ();
  signals_block ();
  err = plan_read (STATUS_FD, &bytes, &size);
  if (err == 0)
    err = plan_parse (bytes, size, &plan, &item);
  if (err || argc < 2)
    die_at (STEP_PLAN, item, err ? err : EINVAL);
  if (!host_lives ())
    return EXIT_LAUNCHER;
  status = wait_for (start (&plan, argv + 1));
  /* How the tool ended, pid 1 has reported, unless it was itself killed and the tool with it. */
  if (WIFSIGNALED (status))
    report_exit (status);
  return status == 0 ? 0 : EXIT_LAUNCHER;
}
