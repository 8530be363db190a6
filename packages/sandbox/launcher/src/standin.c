#include "standin.h"

#include "environment.h"
#include "plan.h"
#include "relay.h"
#include "report.h"
#include "start.h"
#include "terminal.h"
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The report goes to a file in memory, which is there before anything can fail. What else somebody left open is
 * nobody's business. */
static int
open_report (void)
{
  int fd = (int) syscall (SYS_memfd_create, "cordon-report", 0);
  if (fd < 0 || dup2 (fd, STATUS_FD) < 0)
    return errno;
  return syscall (SYS_close_range, STATUS_FD + 1, ~0u, 0) ? errno : 0;
}

/* Node reads without waiting when it has asked the person something. Nobody expects that of a stream he is given. */
static void
make_streams_wait (void)
{
  for (int fd = 0; fd < 3; fd++)
    {
      int flags = fcntl (fd, F_GETFL);
      if (flags >= 0 && flags & O_NONBLOCK)
        fcntl (fd, F_SETFL, flags & ~O_NONBLOCK);
    }
}

/* A program at a terminal must keep it: shells and progress bars ask whether stderr is one. And where both streams are
 * one file, only the program itself keeps their order. */
static int
may_relay (void)
{
  struct stat out, err;
  return !isatty (STDERR_FILENO) && fstat (STDERR_FILENO, &err) == 0
         && (fstat (STDOUT_FILENO, &out) || out.st_dev != err.st_dev || out.st_ino != err.st_ino);
}

/* Runs the plan. How it ended is in the report. */
static void
run (struct plan *plan, struct relay *relay)
{
  int child, status;

  if (isatty (STDIN_FILENO))
    plan->flags |= FLAG_KEEP_TERMINAL;
  if (may_relay () && relay_open (relay, STDERR_FILENO))
    return report_failed (STEP_FORK, NO_ITEM, errno);
  child = start (plan, relay);
  if (child < 0)
    return;
  status = wait_for (child, plan->flags & FLAG_KEEP_TERMINAL ? SIGNALS_SENT : SIGNALS_ALL, relay);
  /* How the tool ended, pid 1 has reported, unless it was itself killed and the tool with it. */
  if (WIFSIGNALED (status))
    report_exit (status);
}

/* As if the signal had hit us, so that whoever started us sees what happened. */
static _Noreturn void
die_by (int sig)
{
  signal (sig, SIG_DFL);
  signals_unblock ();
  kill (getpid (), sig);
  _exit (128 + sig);
}

/* What the tool died of, or 0. */
static int
signal_in (const char *report)
{
  const char *sig = strstr (report, "exit signal=");
  return sig ? atoi (sig + strlen ("exit signal=")) : 0;
}

/* As the tool did. Returns when it was never started. */
static void
end_alike (const char *report)
{
  const char *code = strstr (report, "exit code=");
  int sig = signal_in (report);
  if (strstr (report, "failed ") == report)
    return;
  if (code)
    _exit (atoi (code + strlen ("exit code=")));
  if (sig)
    die_by (sig);
}

/* The host again, with the report and the end of what the tool said, to explain. */
static _Noreturn void
call_host (char **argv, const struct relay *relay, const char *report)
{
  if (write (STATUS_FD, "\n", 1) == 1)
    relay_write_tail (relay, STATUS_FD);
  lseek (STATUS_FD, 0, SEEK_SET);
  setenv (ENDED_VARIABLE, "1", 1);
  signal (SIGPIPE, SIG_DFL);
  signals_unblock ();
  execv (argv[0], argv);
  /* It is gone, perhaps by an update meanwhile: nobody explains, and the end is what it was. */
  end_alike (report);
  _exit (EXIT_LAUNCHER);
}

_Noreturn void
stand_in (char **argv)
{
  static struct relay relay;
  char report[512];
  unsigned char *bytes;
  size_t size;
  struct plan plan = { 0 };
  ssize_t got;
  int item = NO_ITEM, err = open_report ();

  if (err || argv[0] == NULL)
    _exit (EXIT_LAUNCHER);
  relay.from = -1;
  signal (SIGPIPE, SIG_IGN);
  make_streams_wait ();
  err = environment_take_plan (&bytes, &size);
  if (err == 0)
    err = plan_parse (bytes, size, &plan, &item);
  if (err)
    report_failed (STEP_PLAN, item, err);
  else
    run (&plan, &relay);
  /* Nor does the next program at this terminal, whatever ours did to it. */
  make_streams_wait ();
  got = pread (STATUS_FD, report, sizeof report - 1, 0);
  report[got > 0 ? got : 0] = 0;
  terminal_return (signal_in (report));
  if (strcmp (report, TOOL_SUCCEEDED) == 0)
    _exit (0);
  if (!(plan.flags & FLAG_EXPLAIN))
    end_alike (report);
  call_host (argv, &relay, report);
}
