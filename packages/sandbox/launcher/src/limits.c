#include "launcher.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* RLIMIT_NPROC does not bind uid 0, the namespace's own highest pid does. Kernels before 6.14 have one for the
 * whole machine and refuse to let us change it; then RLIMIT_NPROC is all there is (docs/sandbox.md). */
void
limits_of_pids (int root, uint32_t highest)
{
  int fd = openat (root, "proc/sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  dprintf (fd, "%u", highest);
  close (fd);
}

/* The kernel counts these for a user and not for a namespace: whoever takes them all takes them from every other program of the
 * same user, which for root is the system. At most half of them is ours. */
static void
take_half (int root, const char *all, const char *ours)
{
  char text[24];
  ssize_t got;
  int fd = openat (root, all, O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return;
  got = read (fd, text, sizeof text - 1);
  close (fd);
  if (got <= 0)
    return;
  text[got] = 0;
  fd = openat (root, ours, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  dprintf (fd, "%ld", strtol (text, NULL, 10) / 2);
  close (fd);
}

void
limits_of_watching (int root)
{
  take_half (root, "proc/sys/fs/inotify/max_user_instances", "proc/sys/user/max_inotify_instances");
  take_half (root, "proc/sys/fs/inotify/max_user_watches", "proc/sys/user/max_inotify_watches");
}
