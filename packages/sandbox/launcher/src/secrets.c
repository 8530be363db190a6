/* SPEC 4.3: /etc without its secrets. A secret is what is not readable by everybody: as root, or in a privileged
 * group, permissions alone would not protect it. The same rule as src/plan/secrets.ts, which a test compares.
 * Root lets the kernel hold it (decision 0247). Everybody else looks for it: when, and by whom, decision 0047 says, and what
 * is remembered for the next start, names.h. */
#include "launcher.h"

#include "bytes.h"
#include "kernel.h"
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BELOW (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS)
#define READ_BY_ALL 0004
#define ENTER_BY_ALL 0005

/* A directory to look into. Not recursion: how deep they go is not ours to say. */
struct directory
{
  struct directory *next;
  struct stat status;
  char path[];
};

struct walk
{
  int root;               /* what paths begin at */
  dev_t ours;             /* what lies on this device covers something already */
  struct names *names;    /* what is remembered of directories, NULL for nothing */
  int top;                /* the directory that is looked through, */
  size_t top_size;        /* the length of its path, */
  dev_t device;           /* and where it lies: others are not remembered */
  struct directory *open; /* to be looked into */
  struct buffer leaves;   /* the names in the one that is being read */
  struct buffer secrets;  /* what was found: paths, each with its NUL */
};

/* Writes the path of what is called so in dir to out, which has room for PATH_MAX bytes. */
static int
join (char *out, const char *dir, const char *name)
{
  size_t left = strlen (dir), right = strlen (name);

  if (left + right + 2 > PATH_MAX)
    return ENAMETOOLONG;
  memcpy (out, dir, left);
  if (left > 0)
    out[left++] = '/';
  memcpy (out + left, name, right + 1);
  return 0;
}

static int
add_secret (struct walk *walk, const char *path)
{
  return buffer_add (&walk->secrets, path, strlen (path) + 1);
}

static int
open_later (struct walk *walk, const char *path, const struct stat *status)
{
  size_t size = strlen (path) + 1;
  struct directory *dir = malloc (sizeof *dir + size);

  if (dir == NULL)
    return ENOMEM;
  dir->next = walk->open;
  dir->status = *status;
  memcpy (dir->path, path, size);
  walk->open = dir;
  return 0;
}

/* What dir has under this leaf, which is called name from at. */
static int
look_at (struct walk *walk, const char *dir, const char *leaf, int at, const char *name)
{
  char path[PATH_MAX];
  struct stat st;
  mode_t needed;
  int err;

  if (fstatat (at, name, &st, AT_SYMLINK_NOFOLLOW))
    return errno == ENOENT ? 0 : errno;
  if (S_ISLNK (st.st_mode) || st.st_dev == walk->ours)
    return 0;
  needed = S_ISDIR (st.st_mode) ? ENTER_BY_ALL : READ_BY_ALL;
  if ((st.st_mode & needed) == needed && !S_ISDIR (st.st_mode))
    return 0;
  err = join (path, dir, leaf);
  if (err)
    return err;
  return (st.st_mode & needed) == needed ? open_later (walk, path, &st) : add_secret (walk, path);
}

static int
look_at_entry (struct walk *walk, const char *dir, int fd, const struct linux_dirent64 *entry)
{
  const char *name = entry->d_name;

  /* A link gives no access of its own. Filesystems that do not tell say DT_UNKNOWN. */
  if (entry->d_type == DT_LNK || strcmp (name, ".") == 0 || strcmp (name, "..") == 0)
    return 0;
  if (buffer_add (&walk->leaves, name, strlen (name) + 1))
    return ENOMEM;
  return look_at (walk, dir, name, fd, name);
}

static int
read_directory (struct walk *walk, const struct directory *dir)
{
  static _Alignas (struct linux_dirent64) char entries[32768];
  long size = 0;
  int err = 0, fd = sys_openat2 (walk->root, dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, BELOW);

  if (fd < 0)
    return errno;
  walk->leaves.size = 0;
  while (err == 0 && (size = syscall (__NR_getdents64, fd, entries, sizeof entries)) > 0)
    for (long at = 0; err == 0 && at < size;)
      {
        const struct linux_dirent64 *entry = (const void *) (entries + at);
        err = look_at_entry (walk, dir->path, fd, entry);
        at += entry->d_reclen;
      }
  if (size < 0)
    err = errno;
  close (fd);
  return err;
}

/* Its names are known, so it need not be opened. */
static int
look_at_known (struct walk *walk, const struct directory *dir, const char *names, size_t size)
{
  const char *below = dir->path + walk->top_size;
  char path[PATH_MAX];
  int err = 0;

  if (*below == '/')
    below++;
  for (const char *name = names; err == 0 && name < names + size; name += strlen (name) + 1)
    {
      err = join (path, below, name);
      if (err == 0)
        err = look_at (walk, dir->path, name, walk->top, path);
    }
  return err;
}

static int
look_into (struct walk *walk, const struct directory *dir)
{
  struct names *names = dir->status.st_dev == walk->device ? walk->names : NULL;
  size_t size;
  const char *known = names ? names_find (names, &dir->status, &size) : NULL;
  int err;

  if (known)
    return look_at_known (walk, dir, known, size);
  err = read_directory (walk, dir);
  if (err == 0 && names)
    names_learn (names, &dir->status, walk->leaves.bytes, walk->leaves.size);
  return err;
}

static int
begin (struct walk *walk, const char *top, struct names *names)
{
  struct stat st;

  walk->secrets.size = 0;
  walk->top = sys_openat2 (walk->root, top, O_PATH | O_DIRECTORY | O_CLOEXEC, BELOW);
  if (walk->top < 0 || fstat (walk->top, &st))
    return errno;
  walk->top_size = strlen (top);
  walk->device = st.st_dev;
  walk->names = names && names_can_be_kept (walk->top) ? names : NULL;
  return open_later (walk, top, &st);
}

static int
look_into_or_cover (struct walk *walk, const struct directory *dir)
{
  int err = look_into (walk, dir);

  /* Everybody may enter it, only not we: the tool, who is the same user, might still know a name inside. */
  if (err == EACCES)
    return add_secret (walk, dir->path);
  /* It vanished; what pid 1 has mounted has lost it too. */
  return err == ENOENT && strlen (dir->path) > walk->top_size ? 0 : err;
}

static int
find (struct walk *walk, const char *top, struct names *names)
{
  int err = begin (walk, top, names);

  while (walk->open)
    {
      struct directory *dir = walk->open;
      walk->open = dir->next;
      if (err == 0)
        err = look_into_or_cover (walk, dir);
      free (dir);
    }
  if (walk->top >= 0)
    close (walk->top);
  return err;
}

static int
send_list (int to, const struct buffer *list)
{
  uint32_t size = (uint32_t) list->size;
  int err = write_all (to, &size, sizeof size);
  if (err == 0)
    err = write_all (to, list->bytes, list->size);
  /* Pid 1 is gone, and has said why. */
  return err == EPIPE ? 0 : err;
}

int
secrets_send (const struct plan *plan, int to, int *item)
{
  struct walk walk = { .root = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC) };
  void (*before) (int) = signal (SIGPIPE, SIG_IGN);
  const struct item *kept = plan_find (plan, TAG_NAMES, item);
  int err = walk.root < 0 ? errno : 0;
  struct names names;

  names_open (&names, kept ? kept->path : NULL);
  for (uint32_t i = 0; err == 0 && i < plan->count; i++)
    if (plan->items[i].tag == TAG_COVER_PRIVATE && plan->items[i].value == 0)
      {
        *item = (int) i;
        err = find (&walk, plan->items[i].path, &names);
        if (err == 0)
          err = send_list (to, &walk.secrets);
      }
  names_close (&names);
  free (walk.leaves.bytes);
  free (walk.secrets.bytes);
  if (walk.root >= 0)
    close (walk.root);
  signal (SIGPIPE, before);
  return err;
}

int
secrets_receive (int from, char **paths, size_t *size)
{
  uint32_t length;
  int err = read_exactly (from, &length, sizeof length);

  if (err)
    return err;
  *size = length;
  *paths = malloc (*size + 1);
  return *paths == NULL ? ENOMEM : read_exactly (from, *paths, *size);
}

int
secrets_find (int root, dev_t ours, const char *dir, char **paths, size_t *size)
{
  struct walk walk = { .root = root, .ours = ours };
  int err = find (&walk, dir, NULL);

  free (walk.leaves.bytes);
  *paths = walk.secrets.bytes;
  *size = walk.secrets.size;
  return err;
}

/* Read-only and private are set with the owners in one call: a mount that is still shared with the host's would carry what
 * is mounted in it to the host. */
static int
open_unowned (const char *dir, int nobody)
{
  struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                             .propagation = PRIVATE,
                             .userns_fd = (uint64_t) nobody };
  int tree, fd = sys_openat2 (AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

  if (fd < 0)
    return -1;
  tree = sys_open_tree (fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
  close (fd);
  if (tree < 0)
    return -1;
  /* Above the descriptors with a meaning of their own, or not at all: 0 stands for none. */
  if (tree > STATUS_FD
      && syscall (__NR_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) == 0)
    return tree;
  close (tree);
  return -1;
}

int
secrets_disown (struct plan *plan)
{
  int nobody = -1, child = 0;

  for (uint32_t i = 0; i < plan->count; i++)
    {
      struct item *item = &plan->items[i];
      int tree;
      if (item->tag != TAG_COVER_PRIVATE)
        continue;
      item->value = 0;
      /* Only root may change how a filesystem of the host shows its owners. Where a rule reaches into the directory, the way
       * there may lead through what others may not enter, and pid 1 has to go it. */
      if (geteuid () != 0 || !item->arg || (nobody < 0 && child != 0))
        continue;
      if (nobody < 0 && (nobody = namespaces_open_nobody (&child)) < 0)
        continue;
      tree = open_unowned (item->path, nobody);
      if (tree >= 0)
        item->value = (uint64_t) tree;
    }
  if (nobody >= 0)
    close (nobody);
  return child > 0 ? child : 0;
}

void
secrets_close (const struct plan *plan)
{
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == TAG_COVER_PRIVATE && plan->items[i].value)
      close ((int) plan->items[i].value);
}
