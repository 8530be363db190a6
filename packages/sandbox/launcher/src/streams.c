#include "launcher.h"

#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* What F_SETFL can change. On a pipe O_DIRECT makes packets, of which whoever reads less loses the rest. */
#define KEPT (O_APPEND | O_NONBLOCK | O_ASYNC | O_DIRECT | O_NOATIME)

typedef int name_of (int fd, struct sockaddr *address, socklen_t *size);

/* An end that nobody can find: no path, no abstract name. Fails for one that has no other end. */
static int
is_unnamed (name_of *ask, int fd)
{
  struct sockaddr_un address;
  socklen_t size = sizeof address;
  return ask (fd, (struct sockaddr *) &address, &size) == 0 && size == offsetof (struct sockaddr_un, sun_path);
}

static int
option_of (int fd, int option)
{
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt (fd, SOL_SOCKET, option, &value, &size) ? -1 : value;
}

/* A socket of the host has the host's network behind it, whatever namespace the tool is in: connect(AF_UNSPEC) and a
 * first message to somewhere else, and no filter of ours has seen a socket(2). Harmless are two ends that only have
 * each other. Not for datagrams: such an end can be turned to any socket whose path is there. */
static int
is_pair (int fd)
{
  int type = option_of (fd, SO_TYPE);
  return option_of (fd, SO_DOMAIN) == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET)
         && is_unnamed (getsockname, fd) && is_unnamed (getpeername, fd);
}

/* A directory would be a way around the root: what is mounted over a path does not cover what is reached from a
 * directory that was opened outside. */
void
streams_refuse (void)
{
  struct stat st;
  for (int fd = 0; fd < STREAMS; fd++)
    {
      if (fstat (fd, &st))
        continue;
      if (S_ISDIR (st.st_mode))
        die_at (STEP_CLOSE_FDS, NO_ITEM, EISDIR);
      if (S_ISSOCK (st.st_mode) && !is_pair (fd))
        die_at (STEP_CLOSE_FDS, NO_ITEM, EAFNOSUPPORT);
    }
}

/* Opens a device anew through a mount of its own that is read-only: the kernel writes devices through it all the same, and
 * changes nothing of who may open them, nor their times. What has no name here, or may not be opened (a terminal of
 * another user), stays as it is. Returns the mount, which is not attached anywhere, or -1. */
static int
shield (int fd)
{
  char name[32], path[PATH_MAX];
  struct stat given, found;
  ssize_t size;
  int tree, flags = fcntl (fd, F_GETFL);

  snprintf (name, sizeof name, "/proc/self/fd/%d", fd);
  if (flags < 0 || fstat (fd, &given) || !S_ISCHR (given.st_mode) || (size = readlink (name, path, sizeof path - 1)) < 0)
    return -1;
  path[size] = 0;
  tree = sys_open_tree (AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
  if (tree < 0)
    return -1;
  if (fstat (tree, &found) == 0 && found.st_dev == given.st_dev && found.st_ino == given.st_ino
      && sys_mount_setattr (tree, AT_EMPTY_PATH, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) == 0)
    {
      int again;
      snprintf (name, sizeof name, "/proc/self/fd/%d", tree);
      again = open (name, (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_NOCTTY | O_CLOEXEC);
      if (again >= 0)
        {
          if (dup2 (again, fd) < 0)
            die_at (STEP_CLOSE_FDS, NO_ITEM, errno);
          close (again);
        }
    }
  return tree;
}

void
streams_shield (struct shields *shields)
{
  for (int fd = 0; fd < STREAMS; fd++)
    shields->mounts[fd] = shield (fd);
}

void
streams_let_go (const struct shields *shields, int stage)
{
  for (int fd = 0; fd < STREAMS; fd++)
    {
      char name[32];
      if (shields->mounts[fd] < 0)
        continue;
      snprintf (name, sizeof name, "stream-%d", fd);
      if (mknodat (stage, name, S_IFREG, 0) == 0)
        sys_move_mount (shields->mounts[fd], stage, name); /* if not, it only takes longer */
      close (shields->mounts[fd]);
    }
}

void
streams_keep (struct streams *streams)
{
  for (int fd = 0; fd < STREAMS; fd++)
    {
      struct stat *device = &streams->devices[fd];
      streams->flags[fd] = fcntl (fd, F_GETFL);
      if (fstat (fd, device) || !S_ISCHR (device->st_mode))
        device->st_mode = 0;
    }
}

static void
restore_device (int fd, const struct stat *before)
{
  struct stat now;
  if (!before->st_mode || fstat (fd, &now) || now.st_rdev != before->st_rdev)
    return;
  /* The owner first, which may take bits of the mode away. */
  if (now.st_uid != before->st_uid || now.st_gid != before->st_gid)
    (void) !fchown (fd, before->st_uid, before->st_gid);
  if (now.st_mode != before->st_mode)
    (void) !fchmod (fd, before->st_mode & 07777);
}

void
streams_restore (const struct streams *streams)
{
  for (int fd = 0; fd < STREAMS; fd++)
    {
      int now = fcntl (fd, F_GETFL), before = streams->flags[fd];
      if (now >= 0 && before >= 0 && (now ^ before) & KEPT)
        fcntl (fd, F_SETFL, (now & ~KEPT) | (before & KEPT));
      restore_device (fd, &streams->devices[fd]);
    }
}
