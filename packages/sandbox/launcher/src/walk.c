#include "walk.h"

#include "kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>

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

int
walk_through (struct walk *walk, const char *top, struct names *names)
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
