#include "launcher.h"

#include "terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
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

/* Whether somebody who sends it, or types it, wants an end. */
static int
wants_end (int sig)
{
  return sig == SIGKILL || sig == SIGTERM || sig == SIGINT || sig == SIGQUIT || sig == SIGHUP;
}

/* To whom a signal goes on. */
enum audience
{
  NOBODY,
  TOOL,
  GROUP, /* the tool's, with all that it started and left in it */
};

/* Whether it means every process of a group that it is sent to. Others are between us and the host, or for the terminal. */
static int
is_for_group (int sig)
{
  return wants_end (sig) || sig == SIGUSR1 || sig == SIGUSR2 || sig == SIGALRM;
}

/* In the supervisor. What comes from the host was sent to the host alone. What comes from anybody else was sent to the group that we
 * are in with it, as timeout(1) does, and a terminal that the tool has not: the host passes that on as well, and of the two the
 * group's counts. */
static enum audience
audience_outside (const struct signalfd_siginfo *info, const struct plan *plan)
{
  static time_t heard[NSIG];
  struct timespec now;
  int index, sig = (int) info->ssi_signo;
  const struct item *host = plan_find (plan, TAG_HOST, &index);

  if (info->ssi_code == SI_KERNEL && plan->flags & FLAG_KEEP_TERMINAL)
    return NOBODY; /* who typed it typed it to the tool */
  if (!is_for_group (sig) || host == NULL)
    return TOOL;
  clock_gettime (CLOCK_MONOTONIC, &now);
  if (info->ssi_code == SI_KERNEL || info->ssi_pid != host->arg)
    return heard[sig] = now.tv_sec + 1, GROUP;
  if (heard[sig] < now.tv_sec)
    return TOOL;
  return heard[sig] = 0, NOBODY;
}

/* In pid 1, which the supervisor tells. */
static enum audience
audience_inside (const struct signalfd_siginfo *info)
{
  if (info->ssi_code == SI_KERNEL)
    return NOBODY;
  return info->ssi_code == SI_QUEUE && info->ssi_int == GROUP ? GROUP : TOOL;
}

/* The signal that came, 0 for none. */
static int
take_signal (int signals, const struct plan *plan, enum audience *audience)
{
  struct signalfd_siginfo info;

  if (read (signals, &info, sizeof info) != sizeof info || info.ssi_signo == SIGCHLD)
    return 0;
  *audience = plan ? audience_outside (&info, plan) : audience_inside (&info);
  return info.ssi_signo == SIGNAL_KILL_ALL ? SIGKILL : (int) info.ssi_signo;
}

/* What continues the tool continues all of its group, which stopped together. The supervisor's own continuation is told
 * by terminal_stop. */
static void
pass (int child, int sig, enum audience audience, const struct plan *plan)
{
  if (audience == GROUP && plan)
    {
      if (sigqueue (child, sig, (union sigval){ .sival_int = GROUP })) /* no room: then at least to the tool */
        kill (child, sig);
    }
  else if (audience == GROUP)
    kill (-child, sig); /* of a tool that is in our own group nobody has to be told: it was sent to that */
  else if (terminal_is_kept () && (sig == SIGNAL_IN_FRONT || sig == SIGCONT))
    terminal_continue (child, sig == SIGCONT ? IN_BACKGROUND : IN_FRONT);
  else if (sig != SIGNAL_IN_FRONT && !(sig == SIGCONT && terminal_stops () >= 0))
    kill (child, sig);
}

int
wait_for (int child, struct relay *relays, const struct plan *plan)
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
      struct pollfd ready[2 + RELAYS] = { { .fd = signals, .events = POLLIN },
                                          { .fd = ended ? -1 : terminal_stops (), .events = POLLIN } };
      int sig = 0;
      enum audience audience = NOBODY;
      ended = ended || reap (child, &status);
      if (ended && !relays_are_open (relays))
        break;
      for (int i = 0; i < RELAYS; i++)
        if (relays != NULL && relay_is_open (&relays[i]))
          ready[2 + i] = relay_wants (&relays[i]);
        else
          ready[2 + i].fd = -1;
      poll (ready, 2 + RELAYS, signals < 0 ? 10 : terminal_is_behind () ? LOOK_FOR_TERMINAL : -1);
      if (ready[0].revents)
        sig = take_signal (signals, plan, &audience);
      if (sig && !ended && audience != NOBODY)
        pass (child, sig, audience, plan);
      /* Once it is reaped its number may be another's; what nobody reads is given up instead. */
      for (int i = 0; relays != NULL && i < RELAYS; i++)
        {
          if (ended && wants_end (sig) && relay_is_open (&relays[i]))
            relay_close (&relays[i]);
          if (ready[2 + i].revents && relay_is_open (&relays[i]))
            relay_move (&relays[i]);
        }
      if (ready[1].revents && !ended)
        kill (child, terminal_stop () == IN_FRONT ? SIGNAL_IN_FRONT : SIGCONT);
      else if (!ended && terminal_came_back ())
        kill (child, SIGNAL_IN_FRONT);
    }
  close (signals);
  return status;
}
