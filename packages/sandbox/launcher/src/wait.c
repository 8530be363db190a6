#include "wait.h"

#include "report.h"
#include "terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH };

static void
handled_signals (sigset_t *set)
{
  sigemptyset (set);
  sigaddset (set, SIGCHLD);
  sigaddset (set, SIGNAL_KILL_ALL);
  sigaddset (set, SIGNAL_IN_FRONT);
  for (size_t i = 0; i < sizeof forwarded / sizeof forwarded[0]; i++)
    sigaddset (set, forwarded[i]);
}

void
signals_block (void)
{
  sigset_t set;
  handled_signals (&set);
  sigprocmask (SIG_BLOCK, &set, NULL);
}

void
signals_unblock (void)
{
  sigset_t set;
  handled_signals (&set);
  sigprocmask (SIG_UNBLOCK, &set, NULL);
}

/* Reaps everything that is ready. Returns whether child was among it. Its stops are told, in pid 1. */
static int
reap (int child, int *status)
{
  for (;;)
    {
      int one, pid = waitpid (-1, &one, WNOHANG | (terminal_is_kept () ? WUNTRACED : 0));
      if (pid > 0 && WIFSTOPPED (one))
        {
          if (pid == child)
            terminal_report_stop ();
          continue;
        }
      if (pid == child)
        return *status = one, 1;
      if (pid <= 0)
        return 0;
    }
}

/* The signal to pass on, 0 for none. */
static int
take_signal (int signals, enum signals passed)
{
  struct signalfd_siginfo info;

  if (read (signals, &info, sizeof info) != sizeof info)
    return 0;
  if (info.ssi_signo == SIGNAL_KILL_ALL)
    return SIGKILL;
  if (info.ssi_signo == SIGCHLD || (passed == SIGNALS_SENT && info.ssi_code == SI_KERNEL))
    return 0;
  return (int) info.ssi_signo;
}

/* What continues the tool continues all of its group, which stopped together. The supervisor's own continuation is told
 * by terminal_stop. */
static void
pass (int child, int sig)
{
  if (terminal_is_kept () && (sig == SIGNAL_IN_FRONT || sig == SIGCONT))
    terminal_continue (child, sig == SIGCONT ? IN_BACKGROUND : IN_FRONT);
  else if (sig != SIGNAL_IN_FRONT && !(sig == SIGCONT && terminal_stops () >= 0))
    kill (child, sig);
}

int
wait_for (int child, enum signals passed, struct relay *relay)
{
  sigset_t set;
  int signals, ended = 0, status = 0;

  handled_signals (&set);
  signals = signalfd (-1, &set, SFD_CLOEXEC);
  /* Whoever cannot be told about must not run. */
  if (signals < 0)
    kill (child, SIGKILL);
  for (;;)
    {
      struct pollfd ready[3] = { { .fd = signals, .events = POLLIN },
                                 { .fd = -1 },
                                 { .fd = ended ? -1 : terminal_stops (), .events = POLLIN } };
      int sig = 0;
      ended = ended || reap (child, &status);
      if (ended && !relay_is_open (relay))
        break;
      if (relay_is_open (relay))
        ready[1] = relay_wants (relay);
      poll (ready, 3, signals < 0 ? 10 : -1);
      if (ready[0].revents)
        sig = take_signal (signals, passed);
      if (sig && !ended)
        pass (child, sig);
      /* Once it is reaped its number may be another's; what is left to do is given up instead. */
      else if (sig)
        relay_close (relay);
      if (ready[1].revents && relay_is_open (relay))
        relay_move (relay);
      if (ready[2].revents && !ended)
        kill (child, terminal_stop () == IN_FRONT ? SIGNAL_IN_FRONT : SIGCONT);
    }
  close (signals);
  return status;
}
