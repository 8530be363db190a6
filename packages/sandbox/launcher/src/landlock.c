#include "launcher.h"

#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* The highest right of each ABI, so that a kernel is asked for all it knows and for nothing more. */
static uint64_t
rights_of_abi (int abi)
{
  uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (abi >= 2)
    all |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3)
    all |= LANDLOCK_ACCESS_FS_TRUNCATE;
  if (abi >= 5)
    all |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
  return all;
}

/* The kernel refuses a rule that gives a file the rights of a directory. */
#define FILE_RIGHTS                                                                                     \
  (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE             \
   | LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV)

static int
add_rule (int ruleset, int fd, uint64_t rights)
{
  struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };
  struct stat st;

  if (fstat (fd, &st))
    return errno;
  if (!S_ISDIR (st.st_mode))
    rule.allowed_access &= FILE_RIGHTS;
  if (rule.allowed_access == 0)
    return 0;
  return syscall (__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? errno : 0;
}

/* As openat2 with RESOLVE_NO_SYMLINKS, where that is refused: inside another sandbox of ours. */
static int
open_by_steps (const char *path)
{
  char name[NAME_MAX + 1];
  struct stat st;
  int fd = open ("/", O_PATH | O_CLOEXEC);

  while (fd >= 0)
    {
      size_t size = 0;
      int next, err;
      while (*path == '/')
        path++;
      if (*path == 0)
        break;
      for (; path[size] && path[size] != '/'; size++)
        if (size == NAME_MAX)
          return close (fd), errno = ENAMETOOLONG, -1;
        else
          name[size] = path[size];
      name[size] = 0;
      path += size;
      next = openat (fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
      err = errno;
      close (fd);
      if (next < 0)
        return errno = err, -1;
      fd = next;
      if (fstat (fd, &st) || S_ISLNK (st.st_mode))
        return close (fd), errno = ELOOP, -1;
    }
  return fd;
}

static int
allow_path (int ruleset, const struct item *item, uint64_t handled)
{
  int err, fd = sys_openat2 (AT_FDCWD, item->path, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
  if (fd < 0 && errno == ENOSYS)
    fd = open_by_steps (item->path);
  if (fd < 0)
    return errno;
  err = add_rule (ruleset, fd, item->value & handled);
  close (fd);
  return err;
}

/* A terminal that we were given stays usable by its other names (/dev/stdout), for what it was opened for. */
static void
allow_terminals (int ruleset, uint64_t handled)
{
  for (int fd = 0; fd < 3; fd++)
    {
      uint64_t rights = FILE_RIGHTS & handled & ~LANDLOCK_ACCESS_FS_EXECUTE;
      int err;
      if ((fcntl (fd, F_GETFL) & ACCESS_MODE) == O_WRONLY)
        rights &= ~LANDLOCK_ACCESS_FS_READ_FILE;
      if (isatty (fd) && (err = add_rule (ruleset, fd, rights)))
        die_at (STEP_LANDLOCK, NO_ITEM, err);
    }
}

static size_t
attr_size (int abi)
{
  if (abi >= ABI_WITH_SCOPES)
    return sizeof (struct ruleset_attr);
  return abi >= 4 ? 2 * sizeof (uint64_t) : sizeof (uint64_t);
}

void
landlock_apply (const struct plan *plan)
{
  int ruleset, abi = landlock_abi ();
  uint64_t handled = rights_of_abi (abi);
  struct ruleset_attr attr = {
    .handled_access_fs = handled,
    /* In a network namespace of its own there is nobody but the sandbox (SPEC 4.5). Without one seccomp refuses every
     * socket; this holds the same once more. */
    .handled_access_net = plan->flags & FLAG_NAMESPACES ? 0 : NET_BIND_TCP | NET_CONNECT_TCP,
    .scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL,
  };

  if (abi < 1)
    die_at (STEP_LANDLOCK, NO_ITEM, errno);
  ruleset = (int) syscall (__NR_landlock_create_ruleset, &attr, attr_size (abi), 0);
  if (ruleset < 0)
    die_at (STEP_LANDLOCK, NO_ITEM, errno);
  for (uint32_t i = 0; i < plan->count; i++)
    {
      const struct item *item = &plan->items[i];
      int err = item->tag == TAG_ALLOW ? allow_path (ruleset, item, handled) : 0;
      if (err)
        die_at (STEP_LANDLOCK_RULE, (int) i, err);
    }
  allow_terminals (ruleset, handled);
  if (syscall (__NR_landlock_restrict_self, ruleset, 0))
    die_at (STEP_LANDLOCK, NO_ITEM, errno);
  close (ruleset);
}

int
landlock_keep_signals (void)
{
  /* Moving between directories is the one right that every domain takes away, also without a word about it. */
  struct ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_REFER, .scoped = SCOPE_SIGNAL };
  static const struct item everywhere = { .tag = TAG_ALLOW, .value = LANDLOCK_ACCESS_FS_REFER, .path = "/" };
  int ruleset, held;

  if (landlock_abi () < ABI_WITH_SCOPES || prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    return 0;
  ruleset = (int) syscall (__NR_landlock_create_ruleset, &attr, sizeof attr, 0);
  if (ruleset < 0)
    return 0;
  held = allow_path (ruleset, &everywhere, attr.handled_access_fs) == 0
         && syscall (__NR_landlock_restrict_self, ruleset, 0) == 0;
  close (ruleset);
  /* Whoever started us is outside: asked for rather than believed, for much depends on it. */
  return held && kill (getppid (), 0) < 0 && errno == EPERM;
}
