#include "launcher.h"

#include "kernel.h"
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Nothing to regain: with an empty bounding set and NOROOT not even uid 0 gets a capability by exec. */
static void
drop_capabilities (void)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

  prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  /* EPERM: an ordinary user without namespaces has none to drop, and no_new_privs keeps it so. */
  for (unsigned long cap = 0; cap < 64; cap++)
    if (prctl (PR_CAPBSET_DROP, cap, 0, 0, 0))
      {
        if (errno == EINVAL || errno == EPERM)
          break;
        die_at (STEP_CAPABILITIES, NO_ITEM, errno);
      }
  prctl (PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP
                              | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE
                              | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
         0, 0, 0);
  if (syscall (SYS_capset, &header, none))
    die_at (STEP_CAPABILITIES, NO_ITEM, errno);
}

/* STATUS_FD stays to report a failed exec, and closes with a successful one; so does the gate, which is above it. */
static void
close_fds (int gate)
{
  if (fcntl (STATUS_FD, F_SETFD, FD_CLOEXEC)
      || (gate > STATUS_FD + 1 && syscall (__NR_close_range, STATUS_FD + 1, gate - 1, 0))
      || syscall (__NR_close_range, gate + 1, ~0u, 0))
    die_at (STEP_CLOSE_FDS, NO_ITEM, errno);
}

/* What the kernel counts for all processes of a user, those on the host with them: at most half of it is ours. */
static void
take_half (void)
{
  static const int counted[] = { RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE };
  for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
    {
      struct rlimit limit;
      if (getrlimit (counted[i], &limit) || limit.rlim_max == RLIM_INFINITY)
        continue;
      limit.rlim_max /= 2;
      limit.rlim_cur = limit.rlim_cur < limit.rlim_max ? limit.rlim_cur : limit.rlim_max;
      if (setrlimit (counted[i], &limit))
        die_at (STEP_LIMIT, NO_ITEM, errno);
    }
}

/* Whoever has left the terminal's session reads from it at any time, also from the background, what is typed for somebody
 * else: job control stops only who is in it. A terminal to write to is opened for reading too, so it is opened anew.
 * Before the capabilities go: a root's terminal may be of the user who became root. Where even that fails, it stays. */
static void
give_up_reading (void)
{
  for (int fd = 1; fd < STATUS_FD; fd++)
    if (isatty (fd))
      {
        char path[32];
        int written;
        snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
        written = open (path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (written < 0)
          continue;
        if (dup2 (written, fd) < 0)
          die_at (STEP_SESSION, NO_ITEM, errno);
        close (written);
      }
}

/* Where both bounds of processor time are the same the kernel sends SIGKILL at once, and nobody could tell what it was
 * for. So SIGXCPU first, and a second later the end. */
#define CPU_GRACE 1

static void
set_limits (const struct plan *plan)
{
  take_half ();
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == TAG_LIMIT)
      {
        struct rlimit now, limit;
        if (getrlimit (plan->items[i].arg, &now))
          die_at (STEP_LIMIT, (int) i, errno);
        /* A limit only ever falls: the host may itself be held to less. */
        limit.rlim_cur = now.rlim_cur < plan->items[i].value ? now.rlim_cur : plan->items[i].value;
        limit.rlim_max = plan->items[i].value + (plan->items[i].arg == RLIMIT_CPU ? CPU_GRACE : 0);
        limit.rlim_max = now.rlim_max < limit.rlim_max ? now.rlim_max : limit.rlim_max;
        if (setrlimit (plan->items[i].arg, &limit))
          die_at (STEP_LIMIT, (int) i, errno);
      }
}

/* What pid 1 blocked is not the tool's business, and neither are dispositions inherited from the host. */
static void
reset_signals (void)
{
  sigset_t none;
  for (int sig = 1; sig < NSIG; sig++)
    signal (sig, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
}

static void
enter_cwd (const struct plan *plan)
{
  int index = NO_ITEM;
  const struct item *cwd = plan_find (plan, TAG_CWD, &index);
  if (cwd == NULL || chdir (cwd->path))
    die_at (STEP_CWD, index, cwd == NULL ? EINVAL : errno);
}

/* Pid 1 finishes the root while we confine ourselves. */
static void
wait_for_gate (int gate)
{
  char byte;
  if (read (gate, &byte, 1) != 1)
    _exit (EXIT_LAUNCHER);
}

_Noreturn void
confine_and_exec (const struct plan *plan, int gate)
{
  int index = NO_ITEM;
  const struct item *program = plan_find (plan, TAG_EXEC, &index);
  char **argv = plan_strings (plan, TAG_ARG), **env = plan_strings (plan, TAG_ENV);

  if (program == NULL || argv == NULL || argv[0] == NULL || env == NULL)
    die_at (STEP_EXEC, NO_ITEM, EINVAL);
  reset_signals ();
  if (plan->flags & FLAG_OWN_GROUP)
    terminal_take ();
  enter_cwd (plan);
  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    die_at (STEP_NO_NEW_PRIVS, NO_ITEM, errno);
  if (!(plan->flags & FLAG_KEEP_TERMINAL))
    give_up_reading ();
  drop_capabilities ();
  streams_refuse ();
  close_fds (gate);
  /* With a terminal the session stays, or Ctrl-C and job control would not reach the tool; what a shared
   * session would allow, typing into the terminal, seccomp refuses (docs/decisions/0043). */
  if (!(plan->flags & FLAG_KEEP_TERMINAL) && setsid () < 0)
    die_at (STEP_SESSION, NO_ITEM, errno);
  if (plan->flags & FLAG_LANDLOCK)
    landlock_apply (plan);
  set_limits (plan);
  seccomp_apply (plan);
  wait_for_gate (gate);
  execve (program->path, argv, env);
  die_at (STEP_EXEC, index, errno);
}
