/* SPEC 4.3: /etc without its secrets. A secret is what is not readable by everybody: as root, or in a privileged
 * group, permissions alone would not protect it. The same rule as src/plan/secrets.ts, which a test compares.
 * Root lets the kernel hold it (decision 0247). Everybody else looks for it: when, and by whom, decision 0047 says. */
#include "launcher.h"

#include "bytes.h"
#include "kernel.h"

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

/* Paths one after the other, each with its NUL. Not recursion: how deep a directory goes is not ours to say. */
struct paths
{
  char *text;
  size_t size;
  size_t room;
};

struct walk
{
  int root;             /* what paths begin at */
  dev_t ours;           /* what lies on this device covers something already */
  struct paths open;    /* directories to look into */
  struct paths secrets; /* what was found */
};

/* Adds dir, or with a name what is called so in it. */
static int
add (struct paths *paths, const char *dir, const char *name)
{
  size_t left = strlen (dir), right = strlen (name), need = left + right + 2;

  if (need > PATH_MAX)
    return ENAMETOOLONG;
  if (paths->room - paths->size < need)
    {
      size_t room = 2 * paths->room + PATH_MAX;
      char *text = realloc (paths->text, room);
      if (text == NULL)
        return ENOMEM;
      paths->text = text;
      paths->room = room;
    }
  memcpy (paths->text + paths->size, dir, left);
  paths->size += left;
  if (right > 0)
    paths->text[paths->size++] = '/';
  memcpy (paths->text + paths->size, name, right + 1);
  paths->size += right + 1;
  return 0;
}

static void
take_last (struct paths *paths, char *out)
{
  size_t start = paths->size - 1;
  while (start > 0 && paths->text[start - 1] != 0)
    start--;
  memcpy (out, paths->text + start, paths->size - start);
  paths->size = start;
}

static int
look_at (struct walk *walk, int fd, const char *dir, const struct linux_dirent64 *entry)
{
  struct stat st;
  mode_t needed;

  /* A link gives no access of its own. Filesystems that do not tell say DT_UNKNOWN. */
  if (entry->d_type == DT_LNK || strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
    return 0;
  if (fstatat (fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
    return errno == ENOENT ? 0 : errno;
  if (S_ISLNK (st.st_mode) || st.st_dev == walk->ours)
    return 0;
  needed = S_ISDIR (st.st_mode) ? ENTER_BY_ALL : READ_BY_ALL;
  if ((st.st_mode & needed) != needed)
    return add (&walk->secrets, dir, entry->d_name);
  return S_ISDIR (st.st_mode) ? add (&walk->open, dir, entry->d_name) : 0;
}

static int
look_into (struct walk *walk, const char *dir)
{
  static _Alignas (struct linux_dirent64) char entries[32768];
  long size = 0;
  int err = 0, fd = sys_openat2 (walk->root, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, BELOW);

  if (fd < 0)
    return errno;
  while (err == 0 && (size = syscall (__NR_getdents64, fd, entries, sizeof entries)) > 0)
    for (long at = 0; err == 0 && at < size;)
      {
        const struct linux_dirent64 *entry = (const void *) (entries + at);
        err = look_at (walk, fd, dir, entry);
        at += entry->d_reclen;
      }
  if (size < 0)
    err = errno;
  close (fd);
  return err;
}

static int
find (struct walk *walk, const char *top)
{
  char dir[PATH_MAX];
  int err;

  walk->open.size = walk->secrets.size = 0;
  err = add (&walk->open, top, "");
  while (err == 0 && walk->open.size > 0)
    {
      take_last (&walk->open, dir);
      err = look_into (walk, dir);
      /* Everybody may enter it, only not we: the tool, who is the same user, might still know a name inside. */
      if (err == EACCES)
        err = add (&walk->secrets, dir, "");
      /* It vanished; what pid 1 has mounted has lost it too. */
      else if (err == ENOENT && strcmp (dir, top) != 0)
        err = 0;
    }
  return err;
}

static int
send_list (int to, const struct paths *list)
{
  uint32_t size = (uint32_t) list->size;
  int err = write_all (to, &size, sizeof size);
  if (err == 0)
    err = write_all (to, list->text, list->size);
  /* Pid 1 is gone, and has said why. */
  return err == EPIPE ? 0 : err;
}

int
secrets_send (const struct plan *plan, int to, int *item)
{
  struct walk walk = { .root = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC) };
  void (*before) (int) = signal (SIGPIPE, SIG_IGN);
  int err = walk.root < 0 ? errno : 0;

  for (uint32_t i = 0; err == 0 && i < plan->count; i++)
    if (plan->items[i].tag == TAG_COVER_PRIVATE && plan->items[i].value == 0)
      {
        *item = (int) i;
        err = find (&walk, plan->items[i].path);
        if (err == 0)
          err = send_list (to, &walk.secrets);
      }
  free (walk.open.text);
  free (walk.secrets.text);
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
  int err = find (&walk, dir);

  free (walk.open.text);
  *paths = walk.secrets.text;
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
