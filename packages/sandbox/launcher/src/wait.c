#include "launcher.h"

#include "terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_FOR_TERMINAL 100 /* milliseconds: before a person has taken the hand off `fg` */

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

/* The signal that came, 0 for none. */
static int
take_signal (int signals, int *by_kernel)
{
  struct signalfd_siginfo info;

  if (read (signals, &info, sizeof info) != sizeof info || info.ssi_signo == SIGCHLD)
    return 0;
  *by_kernel = info.ssi_code == SI_KERNEL;
  return info.ssi_signo == SIGNAL_KILL_ALL ? SIGKILL : (int) info.ssi_signo;
}

/* Whether somebody who sends it, or types it, wants an end. */
static int
wants_end (int sig)
{
  return sig == SIGKILL || sig == SIGTERM || sig == SIGINT || sig == SIGQUIT || sig == SIGHUP;
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
wait_for (int child, struct relay *relay)
{
  sigset_t set;
  int signals, ended = 0, status = 0;

  handled_signals (&set);
  /* Without a terminal nobody is told of stops, so nobody is woken for them: a worker is stopped after every call. */
  if (!terminal_is_kept ())
    sigaction (SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP }, NULL);
  signals = signalfd (-1, &set, SFD_CLOEXEC);
  /* Whoever cannot be told about must not run. */
  if (signals < 0)
    kill (child, SIGKILL);
  for (;;)
    {
      struct pollfd ready[3] = { { .fd = signals, .events = POLLIN },
                                 { .fd = -1 },
                                 { .fd = ended ? -1 : terminal_stops (), .events = POLLIN } };
      int sig = 0, by_kernel = 0;
      ended = ended || reap (child, &status);
      if (ended && !relay_is_open (relay))
        break;
      if (relay_is_open (relay))
        ready[1] = relay_wants (relay);
      poll (ready, 3, signals < 0 ? 10 : terminal_is_behind () ? LOOK_FOR_TERMINAL : -1);
      if (ready[0].revents)
        sig = take_signal (signals, &by_kernel);
      if (sig && !ended && !by_kernel)
        pass (child, sig);
      /* Once it is reaped its number may be another's; what nobody reads is given up instead. */
      else if (ended && wants_end (sig))
        relay_close (relay);
      if (ready[1].revents && relay_is_open (relay))
        relay_move (relay);
      if (ready[2].revents && !ended)
        kill (child, terminal_stop () == IN_FRONT ? SIGNAL_IN_FRONT : SIGCONT);
      else if (!ended && terminal_came_back ())
        kill (child, SIGNAL_IN_FRONT);
    }
  close (signals);
  return status;
}
