#include "launcher.h"

#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

struct named_flag
{
  const char *name;
  unsigned long flag;
};

static const struct named_flag kinds[] = {
  { "user", 0 },           { "mount", CLONE_NEWNS }, { "pid", CLONE_NEWPID },       { "ipc", CLONE_NEWIPC },
  { "uts", CLONE_NEWUTS }, { "net", CLONE_NEWNET },  { "cgroup", CLONE_NEWCGROUP },
};

/* Each with a user namespace, as the sandbox would make it. */
static int
try_namespace (unsigned long flag)
{
  int child = namespaces_fork (CLONE_NEWUSER | flag);
  if (child < 0)
    return errno;
  if (child == 0)
    _exit (0);
  waitpid (child, NULL, 0);
  return 0;
}

/* Ubuntu grants namespaces and then refuses every mount in them: only building a root tells. */
static void
try_root (void)
{
  static struct item items[] = {
    { TAG_DIR, 0755, 0, "/proc", "" },
    { TAG_PROC, 0, 0, "/proc", "" },
    { TAG_SEAL, 0, 0, "/", "" },
  };
  static const struct plan plan = { items, 3, FLAG_NAMESPACES, 1 << 20 };
  int pipe_fds[2], child, err;
  char byte;

  if (pipe2 (pipe_fds, O_CLOEXEC))
    die_at (STEP_FORK, NO_ITEM, errno);
  child = namespaces_fork (FIRST_NAMESPACES);
  if (child < 0)
    {
      dprintf (STATUS_FD, "failed %s item=-1 errno=%d\n", step_name[STEP_NAMESPACES], errno);
      return;
    }
  if (child == 0)
    {
      close (pipe_fds[1]);
      if (unshare (LATER_NAMESPACES))
        die_at (STEP_NAMESPACES, NO_ITEM, errno);
      if (read (pipe_fds[0], &byte, 1) != 1)
        _exit (EXIT_LAUNCHER);
      root_enter (&plan, -1);
      root_finish (&plan);
      dprintf (1, "root works\n");
      _exit (0);
    }
  err = namespaces_map_ids (child);
  if (err)
    dprintf (STATUS_FD, "failed %s item=-1 errno=%d\n", step_name[STEP_ID_MAP], err);
  else if (write (pipe_fds[1], "", 1) != 1)
    dprintf (STATUS_FD, "failed %s item=-1 errno=%d\n", step_name[STEP_FORK], errno);
  close (pipe_fds[1]);
  waitpid (child, NULL, 0);
}

int
probe (void)
{
  uint32_t action = SECCOMP_RET_ERRNO;
  int abi = landlock_abi ();

  /* Failures of try_root are printed like the other lines. */
  dup2 (1, STATUS_FD);
  dprintf (1, "landlock %d\n", abi < 0 ? 0 : abi);
  dprintf (1, "seccomp %d\n", syscall (__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) ? errno : 0);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    dprintf (1, "namespace-%s %d\n", kinds[i].name, try_namespace (kinds[i].flag));
  try_root ();
  return 0;
}
