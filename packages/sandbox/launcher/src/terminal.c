#include "terminal.h"

#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static int stops = -1; /* pid 1 says here that the tool has stopped */
static int lent;       /* in the supervisor: our group's terminal, and not in the background */
static int behind;     /* there: it was lent, and the tool goes on in the background */
static int inside;     /* in pid 1 */
static int kept = -1;  /* there, the terminal */

static pid_t
group_in_front (void)
{
  pid_t group;
  return ioctl (STDIN_FILENO, TIOCGPGRP, &group) ? -1 : group;
}

/* From the background the kernel would stop us for it, unless we do not listen. */
static void
put_in_front (int terminal, pid_t group)
{
  sigset_t set;
  sigemptyset (&set);
  sigaddset (&set, SIGTTOU);
  sigprocmask (SIG_BLOCK, &set, NULL);
  ioctl (terminal, TIOCSPGRP, &group);
  sigprocmask (SIG_UNBLOCK, &set, NULL);
}

int
terminal_lend (void)
{
  for (int fd = 0; fd < STATUS_FD; fd++)
    if (!isatty (fd))
      return 0;
  if (group_in_front () != getpgrp ())
    return 0;
  stops = eventfd (0, EFD_CLOEXEC);
  return lent = stops >= 0;
}

void
terminal_take (void)
{
  if (setpgid (0, 0))
    die_at (STEP_SESSION, NO_ITEM, errno);
  put_in_front (STDIN_FILENO, getpid ());
}

void
terminal_keep (void)
{
  /* A shell continues all of the supervisor's group; the tool must wait until the terminal is its own. */
  if (setpgid (0, 0))
    die_at (STEP_SESSION, NO_ITEM, errno);
  inside = 1;
  kept = fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, STATUS_FD + 1);
}

int
terminal_is_kept (void)
{
  return inside;
}

void
terminal_report_stop (void)
{
  eventfd_write (stops, 1);
}

void
terminal_continue (int tool, enum place place)
{
  if (place == IN_FRONT)
    put_in_front (kept, tool);
  kill (-tool, SIGCONT);
}

int
terminal_stops (void)
{
  return inside ? -1 : stops;
}

enum place
terminal_stop (void)
{
  eventfd_t told;
  pid_t before = group_in_front (), now;

  eventfd_read (stops, &told);
  /* We are one of them. Where there is nobody who could continue us, the kernel does not stop us. */
  kill (0, SIGTSTP);
  now = group_in_front ();
  lent = now == getpgrp () || now == before;
  behind = now != getpgrp ();
  return now == getpgrp () ? IN_FRONT : IN_BACKGROUND;
}

int
terminal_is_behind (void)
{
  return behind;
}

int
terminal_came_back (void)
{
  if (!behind || group_in_front () != getpgrp ())
    return 0;
  behind = 0;
  return lent = 1;
}

void
terminal_return (int sig)
{
  if (!lent)
    return;
  lent = 0;
  put_in_front (STDIN_FILENO, getpgrp ());
  if (sig == SIGINT || sig == SIGQUIT)
    {
      void (*before) (int) = signal (sig, SIG_IGN);
      kill (0, sig);
      signal (sig, before);
    }
}
