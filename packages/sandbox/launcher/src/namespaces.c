#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* clone(2) itself: libc's fork takes no flags. Without CLONE_VM the child has a copy of everything, the stack protector's guard
 * too. What libc keeps about this thread is its number, which stays the parent's; only locks between threads look at it. */
int
namespaces_fork (unsigned long flags)
{
  return (int) syscall (SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

static int
write_proc (int child, const char *name, const char *text)
{
  char path[64];
  int fd, err = 0;

  snprintf (path, sizeof path, "/proc/%d/%s", child, name);
  fd = open (path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return errno;
  if (write (fd, text, strlen (text)) < 0)
    err = errno;
  close (fd);
  return err;
}

/* Everybody keeps his own id, so that files keep their owner. An ordinary user may map himself only; root
 * maps all, because the set-up must be able to walk into directories of other users. The tool has
 * no capability in either case (decision 0044). */
static void
describe_map (char *text, size_t size, unsigned id)
{
  if (geteuid () == 0)
    snprintf (text, size, "0 0 4294967295");
  else
    snprintf (text, size, "%u %u 1", id, id);
}

int
namespaces_open_nobody (int *child)
{
  /* The highest id that there is, which nobody has. */
  static const char only[] = "4294967294 4294967294 1";
  char path[64];

  *child = namespaces_fork (CLONE_NEWUSER);
  if (*child < 0)
    return -1;
  if (*child == 0)
    _exit (0);
  /* Until we wait for it, what it was can be seen, and its namespace is there. */
  snprintf (path, sizeof path, "/proc/%d/ns/user", *child);
  if (write_proc (*child, "gid_map", only) || write_proc (*child, "uid_map", only))
    return -1;
  return open (path, O_RDONLY | O_CLOEXEC);
}

int
namespaces_map_ids (int child)
{
  char map[64];
  /* The kernel's condition for letting an ordinary user map a group. */
  int err = write_proc (child, "setgroups", "deny");
  if (err)
    return err;
  describe_map (map, sizeof map, getegid ());
  err = write_proc (child, "gid_map", map);
  if (err)
    return err;
  describe_map (map, sizeof map, geteuid ());
  return write_proc (child, "uid_map", map);
}
