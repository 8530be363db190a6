/* SPEC 4.3: /etc without its secrets. Root lets the kernel hold it (decision 0247). Everybody else looks for them (walk.h): when,
 * and by whom, decision 0047 says, and what is remembered for the next start, names.h. */
#include "launcher.h"

#include "bytes.h"
#include "kernel.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

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
        err = walk_through (&walk, plan->items[i].path, &names);
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
  int err = walk_through (&walk, dir, NULL);

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
