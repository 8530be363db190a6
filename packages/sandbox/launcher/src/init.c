#include "launcher.h"

#include "kernel.h"
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/wait.h>

/* Kills what /proc lists as our children. Returns whether there was any. */
static int
kill_children (void)
{
  char path[64], line[4096];
  ssize_t got;
  int fd;

  snprintf (path, sizeof path, "/proc/self/task/%d/children", (int) getpid ());
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  got = read (fd, line, sizeof line - 1);
  close (fd);
  if (got <= 0)
    return 0;
  line[got] = 0;
  for (char *at = line, *end;; at = end)
    {
      long pid = strtol (at, &end, 10);
      if (end == at)
        return 1;
      /* A number that the end of the buffer cuts off names no process, or another one's; it is read whole the next time. */
      if (*end == ' ')
        kill ((pid_t) pid, SIGKILL);
    }
}

/* Without a pid namespace nothing dies by itself. We are the subreaper, so whoever loses his parent becomes our
 * child: kill and collect until none is left. One by one would never end with somebody who forks and exits without
 * a pause; at once is possible where the kernel keeps our signals to those whom we started. */
static void
kill_orphans (int signals_kept)
{
  if (signals_kept)
    kill (-1, SIGKILL);
  while (kill_children ())
    waitpid (-1, NULL, 0);
}

/* A process that came this near to its limit may have met it, in parts of a hundred. */
#define NEAR 90

static int
memory_is_near (const struct plan *plan, long peak_kib)
{
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == TAG_LIMIT && plan->items[i].arg == RLIMIT_DATA)
      return (uint64_t) peak_kib > plan->items[i].value / 1024 / 100 * NEAR;
  return 0;
}

static int
private_is_full (const struct plan *plan)
{
  struct statfs tmp;
  int index;
  const struct item *place = plan_find (plan, TAG_PRIVATE, &index);

  return place && (plan->flags & FLAG_NAMESPACES) && statfs (place->path, &tmp) == 0
         && (tmp.f_bavail == 0 || tmp.f_ffree == 0);
}

/* Whether a limit was the likely cause of a failure. */
static void
report_pressure (const struct plan *plan)
{
  struct rusage usage;
  int full = private_is_full (plan);

  getrusage (RUSAGE_CHILDREN, &usage);
  if (full || memory_is_near (plan, usage.ru_maxrss))
    dprintf (STATUS_FD, "usage peak_kib=%ld tmp_full=%d\n", usage.ru_maxrss, full);
}

_Noreturn void
init_run (const struct plan *plan)
{
  int child, status, gate[2], signals_kept = 0;

  if (pipe2 (gate, O_CLOEXEC))
    die_at (STEP_FORK, NO_ITEM, errno);
  if (!(plan->flags & FLAG_NAMESPACES))
    {
      prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
      signals_kept = plan->flags & FLAG_LANDLOCK && landlock_keep_signals ();
    }
  /* The tool is of the same user: it must not look into us through /proc, also where Landlock is missing. Its own
   * exec gives it back to the tool. */
  prctl (PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (plan->flags & FLAG_OWN_GROUP)
    terminal_keep ();
  else if (!(plan->flags & FLAG_KEEP_TERMINAL))
    setsid (); /* what is sent to the supervisor's group the supervisor tells us */
  child = fork ();
  if (child < 0)
    die_at (STEP_FORK, NO_ITEM, errno);
  if (child == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      close (gate[1]);
      confine_and_exec (plan, gate[0]);
    }
  /* The tool's streams are the tool's: a reader must see their end when the tool is done. */
  close (0);
  close (1);
  close (2);
  close (gate[0]);
  if (plan->flags & FLAG_NAMESPACES)
    root_finish (plan);
  /* It may have failed by now; then it has said so. */
  signal (SIGPIPE, SIG_IGN);
  if (write (gate[1], "", 1) != 1 && errno != EPIPE)
    die_at (STEP_FORK, NO_ITEM, errno);
  close (gate[1]);
  status = wait_for (child, NULL, NULL);
  report_pressure (plan);
  report_exit (status);
  left_report (plan);
  if (!(plan->flags & FLAG_NAMESPACES))
    kill_orphans (signals_kept);
  _exit (WIFSIGNALED (status) ? WTERMSIG (status) : 0);
}
