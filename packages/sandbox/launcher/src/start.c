#include "start.h"

#include "environment.h"
#include "init.h"
#include "listen.h"
#include "namespaces.h"
#include "report.h"
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The child may go on once its ids are mapped. The supervisor keeps its end of the pipe open for as long as it
 * lives: if it died before we asked to die with it, the pipe says so. */
static void
wait_for_supervisor (int ready)
{
  char byte;
  struct pollfd lives = { .fd = ready };
  if (read (ready, &byte, 1) != 1 || poll (&lives, 1, 0) != 0)
    _exit (EXIT_LAUNCHER);
  close (ready);
}

static _Noreturn void
sandbox (const struct plan *plan, int errors, int ready)
{
  /* After the fork: becoming another user namespace's root would have cleared it. */
  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  environment_wipe ();
  if (errors >= 0 && dup2 (errors, STDERR_FILENO) < 0)
    die_at (STEP_FORK, NO_ITEM, errno);
  wait_for_supervisor (ready);
  if (plan->flags & FLAG_NAMESPACES)
    {
      root_enter (plan);
      listen_and_hand_over (plan);
    }
  init_run (plan);
}

int
start (const struct plan *plan, int errors)
{
  int pipe_fds[2], child, err = 0;
  int isolated = (plan->flags & FLAG_NAMESPACES) != 0;

  if (pipe2 (pipe_fds, O_CLOEXEC))
    return report_failed (STEP_FORK, NO_ITEM, errno), -1;
  child = namespaces_fork (isolated ? ALL_NAMESPACES : 0);
  if (child < 0)
    return report_failed (isolated ? STEP_NAMESPACES : STEP_FORK, NO_ITEM, errno), -1;
  if (child == 0)
    {
      close (pipe_fds[1]);
      sandbox (plan, errors, pipe_fds[0]);
    }
  close (pipe_fds[0]);
  if (isolated)
    err = namespaces_map_ids (child);
  if (err)
    report_failed (STEP_ID_MAP, NO_ITEM, err);
  else if (write (pipe_fds[1], "", 1) == 1)
    return child;
  else
    report_failed (STEP_FORK, NO_ITEM, errno);
  close (pipe_fds[1]); /* the child sees it, and ends */
  return -1;
}
