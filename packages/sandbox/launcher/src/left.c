/* What is left when everything inside has ended (SPEC 4.3, 4.8): what was written to the private home is told, and files
 * that were copied in are copied out. Nobody but pid 1 is there any more, so nothing changes under its eyes. */
#include "launcher.h"

#include "bytes.h"
#include "kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* SPEC 4.10: so many entries are looked at. Of those, so many files are told; the host names fewer. */
#define MOST_LOOKS 1000
#define MOST_TOLD 200
#define LONGEST_TOLD 400

/* A file that was copied in and has become larger is not copied out. */
#define LARGEST_REPLACED (64 << 20)

#define NO_LINKS (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

struct walk
{
  const struct plan *plan;
  const char *home;
  dev_t dev;                /* what is mounted in the home is no part of it */
  char *queue[MOST_LOOKS];  /* directories, each of them an entry that was looked at */
  int queued, looked, told;
};

static int
is_skipped (const struct plan *plan, const char *path)
{
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == TAG_LEFT && plan->items[i].arg && strcmp (plan->items[i].path, path) == 0)
      return 1;
  return 0;
}

/* One line, whatever the name is made of. */
static void
tell (struct walk *walk, const char *path)
{
  const char *rest = path + strlen (walk->home) + 1;
  char line[3 * LONGEST_TOLD + 1];
  size_t at = 0;

  if (walk->told == MOST_TOLD || strlen (rest) > LONGEST_TOLD)
    return;
  for (; *rest; rest++)
    if ((*rest >= 'a' && *rest <= 'z') || (*rest >= 'A' && *rest <= 'Z') || (*rest >= '0' && *rest <= '9')
        || strchr ("/._-", *rest))
      line[at++] = *rest;
    else
      at += (size_t) snprintf (line + at, 4, "%%%02x", (unsigned char) *rest);
  line[at] = 0;
  walk->told++;
  dprintf (STATUS_FD, "left path=%s\n", line);
}

static void
look_at (struct walk *walk, int dir, const char *above, const char *name)
{
  struct stat st;
  char *path;

  if (fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_dev != walk->dev
      || asprintf (&path, "%s/%s", above, name) < 0)
    return;
  if (is_skipped (walk->plan, path))
    free (path);
  else if (S_ISDIR (st.st_mode) && walk->queued < MOST_LOOKS)
    walk->queue[walk->queued++] = path;
  else
    {
      if (!S_ISDIR (st.st_mode))
        tell (walk, path);
      free (path);
    }
}

static void
look_into (struct walk *walk, const char *path)
{
  int fd = sys_openat2 (AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, NO_LINKS);
  DIR *dir = fd < 0 ? NULL : fdopendir (fd);
  struct dirent *entry;

  if (dir == NULL)
    {
      if (fd >= 0)
        close (fd);
      return;
    }
  while (walk->looked < MOST_LOOKS && (entry = readdir (dir)))
    if (strcmp (entry->d_name, ".") && strcmp (entry->d_name, ".."))
      {
        walk->looked++;
        look_at (walk, fd, path, entry->d_name);
      }
  closedir (dir);
}

static void
report_home (const struct plan *plan)
{
  struct walk walk = { .plan = plan };
  struct stat st;

  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == TAG_LEFT && !plan->items[i].arg)
      walk.home = plan->items[i].path;
  if (walk.home == NULL || stat (walk.home, &st))
    return;
  walk.dev = st.st_dev;
  look_into (&walk, walk.home);
  /* Nearer ones first: they say most. */
  for (int next = 0; next < walk.queued; next++)
    {
      look_into (&walk, walk.queue[next]);
      free (walk.queue[next]);
    }
  if (walk.looked >= MOST_LOOKS)
    dprintf (STATUS_FD, "left more\n");
}

static int
copy_all (int from, int to)
{
  char bytes[65536];
  ssize_t got;

  while ((got = read (from, bytes, sizeof bytes)) != 0)
    {
      int err = got < 0 ? errno : write_all (to, bytes, (size_t) got);
      if (err && err != EINTR)
        return err;
    }
  return 0;
}

int
replaced_copy_in (int dir, const char *name, const struct item *item)
{
  int err, fd = openat (dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

  if (fd < 0)
    return errno;
  err = lseek ((int) item->arg, 0, SEEK_SET) < 0 ? errno : copy_all ((int) item->arg, fd);
  close (fd);
  return err;
}

/* A link in its place is not followed: it would lead to whatever the tool chose. */
static int
replaced_copy_out (const struct item *item)
{
  struct stat st;
  int err, out = (int) item->arg, fd = sys_openat2 (AT_FDCWD, item->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, NO_LINKS);

  if (fd < 0)
    return errno;
  if (fstat (fd, &st))
    err = errno;
  else if (!S_ISREG (st.st_mode))
    err = EINVAL;
  else if (st.st_size > LARGEST_REPLACED)
    err = EFBIG;
  else
    err = lseek (out, 0, SEEK_SET) < 0 || ftruncate (out, 0) ? errno : copy_all (fd, out);
  close (fd);
  return err;
}

void
left_report (const struct plan *plan)
{
  int index;

  if (!(plan->flags & FLAG_NAMESPACES)
      || (!plan_find (plan, TAG_LEFT, &index) && !plan_find (plan, TAG_REPLACED, &index)))
    return;
  /* Whoever is still there would be killed when we exit. */
  kill (-1, SIGKILL);
  while (waitpid (-1, NULL, 0) > 0 || errno == EINTR)
    ;
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == TAG_REPLACED)
      dprintf (STATUS_FD, "replaced item=%u errno=%d\n", i, replaced_copy_out (&plan->items[i]));
  report_home (plan);
}
