#include "launcher.h"

#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
sandbox (const struct plan *plan, struct relay *relays, int mapped, int supervisor)
{
  /* After the fork: becoming another user namespace's root would have cleared it. */
  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  /* While the supervisor maps our ids. */
  if (plan->flags & FLAG_NAMESPACES && unshare (LATER_NAMESPACES))
    die_at (STEP_NAMESPACES, NO_ITEM, errno);
  if (relays_enter (relays))
    die_at (STEP_FORK, NO_ITEM, errno);
  wait_for_supervisor (mapped, supervisor);
  if (plan->flags & FLAG_NAMESPACES)
    {
      root_enter (plan, supervisor);
      network_enter (plan);
    }
  else
    close (supervisor);
  init_run (plan);
}

int
start (struct plan *plan, struct relay *relays)
{
  int pipe_fds[2], child, nobody = 0, err = 0, item = NO_ITEM, mapped;
  int isolated = (plan->flags & FLAG_NAMESPACES) != 0;

  plan->flags &= ~(uint32_t) FLAG_OWN_GROUP;
  if (isolated && plan->flags & FLAG_KEEP_TERMINAL && terminal_lend ())
    plan->flags |= FLAG_OWN_GROUP;
  mapped = eventfd (0, EFD_CLOEXEC);
  if (mapped < 0 || pipe2 (pipe_fds, O_CLOEXEC))
    return report_failed (STEP_FORK, NO_ITEM, errno), -1;
  if (isolated)
    nobody = secrets_disown (plan);
  child = namespaces_fork (isolated ? FIRST_NAMESPACES : 0);
  if (child < 0)
    return report_failed (isolated ? STEP_NAMESPACES : STEP_FORK, NO_ITEM, errno), -1;
  if (child == 0)
    {
      close (pipe_fds[1]);
      sandbox (plan, relays, mapped, pipe_fds[0]);
    }
  report_inside (child);
  close (pipe_fds[0]);
  if (isolated)
    secrets_close (plan);
  relays_leave_tool (relays);
  if (isolated)
    err = namespaces_map_ids (child);
  if (err)
    report_failed (STEP_ID_MAP, NO_ITEM, err);
  else if (eventfd_write (mapped, 1))
    report_failed (STEP_FORK, NO_ITEM, err = errno);
  else if (isolated && (err = secrets_send (plan, pipe_fds[1], &item)))
    report_failed (STEP_SECRETS, item, err);
  if (nobody > 0)
    waitpid (nobody, NULL, 0); /* it has ended by now */
  close (mapped);
  if (err == 0)
    return child;
  close (pipe_fds[1]); /* the child sees it, and ends */
  return -1;
}
