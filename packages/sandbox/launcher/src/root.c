/* A root that holds only what was granted (SPEC 4.3): what is not granted is absent. Everything of
 * ours lives on one tmpfs, the stage; everything else is a clone of a mount of the host. */
#include "launcher.h"

#include "bytes.h"
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where the stage is mounted while we build. Not /tmp: a workspace may lie there, and its path is still
 * to be resolved. Nothing under the host's /proc is ever bound. */
#define STAGE "/proc"

/* A link on the way is never followed: the host resolved every path when it planned, so a link found
 * now was put there since. */
#define NO_LINKS (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* A directory that stays open, because the next item's path is likely to lie in it, too (decision 0248). */
struct kept
{
  int fd; /* -1 for none */
  char path[4096];
};

struct builder
{
  int host;          /* "/" as it was */
  int root;          /* "/" as it will be */
  struct kept from;  /* below host */
  struct kept to;    /* below root */
  int stage;         /* the tmpfs itself */
  int void_dir;      /* what covers a directory, */
  int void_file;     /* and anything else */
  dev_t ours;        /* its device: the only one we ever create anything on */
  int made;          /* for names on the stage */
  int secrets;       /* where the supervisor's lists arrive */
};

static const char *
relative (const char *path)
{
  while (*path == '/')
    path++;
  return *path ? path : ".";
}

static int
open_path (int dir, const char *path)
{
  return sys_openat2 (dir, relative (path), O_PATH | O_NOFOLLOW | O_CLOEXEC, NO_LINKS);
}

static void
forget (struct kept *kept)
{
  if (kept->fd >= 0)
    close (kept->fd);
  kept->fd = -1;
}

/* The directory that holds path's last component, and that component. The caller does not close it. */
static int
open_parent (struct kept *kept, int root, const char *path, const char **name)
{
  const char *rest = relative (path), *slash = strrchr (rest, '/');
  size_t size = slash ? (size_t) (slash - rest) : 0;

  if (size >= sizeof kept->path)
    return errno = ENAMETOOLONG, -1;
  *name = slash ? slash + 1 : rest;
  if (kept->fd >= 0 && strncmp (kept->path, rest, size) == 0 && kept->path[size] == 0)
    return kept->fd;
  forget (kept);
  memcpy (kept->path, rest, size);
  kept->path[size] = 0;
  return kept->fd = open_path (root, kept->path);
}

/* The same below the new root, for what is made there. Refuses every directory that is not on our tmpfs: no placeholder
 * of ours ever reaches the host's disk, whatever the plan says. */
static int
open_own_parent (struct builder *b, const char *path, const char **name)
{
  struct stat st;
  int fd = open_parent (&b->to, b->root, path, name);

  if (fd < 0 || fstat (fd, &st))
    return -1;
  return st.st_dev == b->ours ? fd : (errno = EXDEV, -1);
}

static int
make_dir (struct builder *b, const struct item *item)
{
  const char *name;
  int dir = open_own_parent (b, item->path, &name);
  return dir < 0 || (mkdirat (dir, name, item->arg) && errno != EEXIST) ? errno : 0;
}

static int
make_file (struct builder *b, const struct item *item)
{
  const char *name;
  int dir = open_own_parent (b, item->path, &name);
  return dir < 0 || (mknodat (dir, name, S_IFREG | 0444, 0) && errno != EEXIST) ? errno : 0;
}

static int
make_link (struct builder *b, const struct item *item)
{
  const char *name;
  int dir = open_own_parent (b, item->path, &name);
  return dir < 0 || symlinkat (item->other, dir, name) ? errno : 0;
}

static int
make_replaced (struct builder *b, const struct item *item)
{
  const char *name;
  int dir = open_own_parent (b, item->path, &name);
  if (dir < 0)
    return errno;
  return item->value ? replaced_copy_in (dir, name, item) : 0;
}

/* A clone of what dir has under this name, or of dir itself. A link is not followed. */
static int
clone_tree (int dir, const char *name, unsigned depth)
{
  return sys_open_tree (dir, name,
                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | depth);
}

/* Mounts a clone at path, unless err says that something is wrong with it, and closes it. */
static int
mount_tree (struct builder *b, int tree, int err, const char *path)
{
  const char *name;
  int to = err ? -1 : open_parent (&b->to, b->root, path, &name);

  if (err == 0 && (to < 0 || sys_move_mount (tree, to, name)))
    err = errno;
  close (tree);
  /* What was open below it, or is it, is beneath the mount now. */
  if (strncmp (b->to.path, relative (path), strlen (relative (path))) == 0)
    forget (&b->to);
  return err;
}

/* From the host's tree, so that the clone starts with the host's attributes and not with those of the
 * narrower clone it is put into. Recursive: the kernel refuses to lift the lid off a mount below. */
static int
bind_host (struct builder *b, const struct item *item)
{
  struct stat st;
  const char *name;
  int tree, err = 0, from = open_parent (&b->from, b->host, item->path, &name);

  if (from < 0)
    return errno;
  tree = clone_tree (from, name, AT_RECURSIVE);
  if (tree < 0)
    return errno;
  if (fstat (tree, &st) || sys_mount_setattr (tree, AT_EMPTY_PATH | AT_RECURSIVE, item->arg))
    err = errno;
  /* What was planned was no link. */
  else if (S_ISLNK (st.st_mode))
    err = ELOOP;
  return mount_tree (b, tree, err, item->path);
}

/* The same for a link: the clone of a link is that link, but a mount point cannot be removed. */
static int
pin_link (struct builder *b, const struct item *item)
{
  const char *name;
  int tree, dir = open_parent (&b->to, b->root, item->path, &name);

  if (dir < 0)
    return errno;
  tree = clone_tree (dir, name, 0);
  return tree < 0 ? errno : mount_tree (b, tree, 0, item->path);
}

/* Mounts at path what the stage has under this name, with these attributes. */
static int
mount_staged (struct builder *b, const char *name, const char *path, uint64_t attributes)
{
  int tree = clone_tree (b->stage, name, 0);

  if (tree < 0)
    return errno;
  return mount_tree (b, tree, sys_mount_setattr (tree, AT_EMPTY_PATH, attributes) ? errno : 0, path);
}

/* A new directory on the stage, mounted at path. */
static int
mount_stage_dir (struct builder *b, const char *path, mode_t mode, uint64_t attributes)
{
  char name[16];

  snprintf (name, sizeof name, "%d", b->made++);
  if (mkdirat (b->stage, name, 0700) || fchmodat (b->stage, name, mode, 0))
    return errno;
  return mount_staged (b, name, path, attributes);
}

#define INERT (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* A file whose text came with the plan: it lives in memory only, and goes with the sandbox. Mounted, so that it can stand
 * before one of the host's (/etc/hosts), and read-only, so that its owner cannot change it. */
static int
mount_content (struct builder *b, const struct item *item)
{
  char staged[16];
  const char *name;
  struct stat st;
  int err, fd, dir = open_parent (&b->to, b->root, item->path, &name);

  if (dir < 0)
    return errno;
  if (fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) && (err = errno == ENOENT ? make_file (b, item) : errno))
    return err;
  snprintf (staged, sizeof staged, "%d", b->made++);
  fd = openat (b->stage, staged, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
  if (fd < 0)
    return errno;
  err = write_all (fd, item->other, strlen (item->other));
  close (fd);
  return err ? err : mount_staged (b, staged, item->path, INERT | MOUNT_ATTR_RDONLY);
}

/* Makes a path unreadable. What covers it has no permission for anybody, and a mount point can be neither
 * removed, renamed nor replaced; read-only, so that its owner cannot give himself permission. */
static int
cover (struct builder *b, const struct item *item)
{
  struct stat st;
  const char *name;
  int tree, dir = open_parent (&b->to, b->root, item->path, &name);

  if (dir < 0 || fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW))
    return errno;
  /* Something is bound back inside: it can be walked into, not listed, and is sealed by a later item. */
  if (S_ISDIR (st.st_mode) && item->arg)
    return mount_stage_dir (b, item->path, 0111, INERT);
  /* With the attributes of the mount it is cloned from. */
  tree = clone_tree (S_ISDIR (st.st_mode) ? b->void_dir : b->void_file, "", 0);
  return tree < 0 ? errno : mount_tree (b, tree, 0, item->path);
}

static int
cover_each (struct builder *b, const char *paths, size_t size, int *gone)
{
  int err = 0;

  *gone = 0;
  for (const char *path = paths; err == 0 && path < paths + size; path += strlen (path) + 1)
    {
      err = cover (b, &(struct item) { .tag = TAG_COVER, .path = path });
      if (err == ENOENT)
        *gone = 1, err = 0;
    }
  return err;
}

/* So often in a row a directory may change while we cover what is private in it. */
#define MOST_LOOKS 20

/* What the supervisor found. A path that is gone by now may be there under another name, so we look again, until what was
 * found was all there. */
static int
cover_found (struct builder *b, const char *dir)
{
  char *paths = NULL;
  size_t size = 0;
  int gone, err = secrets_receive (b->secrets, &paths, &size);

  /* The supervisor could not find it out, and has said why. */
  if (err == EPIPE)
    _exit (EXIT_LAUNCHER);
  for (int looks = 1; err == 0; looks++)
    {
      err = cover_each (b, paths, size, &gone);
      if (err || !gone)
        break;
      free (paths);
      paths = NULL;
      err = looks < MOST_LOOKS ? secrets_find (b->root, b->ours, dir, &paths, &size) : ENOENT;
    }
  free (paths);
  return err;
}

/* By what the supervisor has opened, or by what it finds. */
static int
cover_private (struct builder *b, const struct item *item)
{
  return item->value ? mount_tree (b, (int) item->value, 0, item->path) : cover_found (b, item->path);
}

static int
seal (const struct builder *b, const struct item *item)
{
  int err = 0, fd = open_path (b->root, item->path);
  if (fd < 0)
    return errno;
  if (sys_mount_setattr (fd, AT_EMPTY_PATH, MOUNT_ATTR_RDONLY))
    err = errno;
  close (fd);
  return err;
}

/* procfs and devpts of our own namespaces. Paths of the plan are ours up to here, so mount(2) by name
 * follows nothing that the host's disk could have changed. */
static int
mount_fresh (struct builder *b, const char *type, const char *path, unsigned long flags, const char *data)
{
  int err = 0;
  forget (&b->to);
  if (fchdir (b->root))
    return errno;
  if (sys_mount (type, relative (path), type, flags, data))
    err = errno;
  if (fchdir (b->host))
    return errno;
  return err;
}

static void
build (struct builder *b, const struct plan *plan, int index)
{
  const struct item *item = &plan->items[index];
  enum step step = STEP_PLAN;
  int err = 0;

  switch (item->tag)
    {
    case TAG_DIR:
      step = STEP_DIR, err = make_dir (b, item);
      break;
    case TAG_FILE:
      step = STEP_FILE, err = make_file (b, item);
      break;
    case TAG_LINK:
      step = STEP_LINK, err = make_link (b, item);
      break;
    case TAG_CONTENT:
      step = STEP_CONTENT, err = mount_content (b, item);
      break;
    case TAG_REPLACED:
      step = STEP_CONTENT, err = make_replaced (b, item);
      break;
    case TAG_PRIVATE:
      step = STEP_PRIVATE;
      err = mount_stage_dir (b, item->path, item->arg,
                             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV
                               | (plan->flags & FLAG_NO_EXECUTION ? MOUNT_ATTR_NOEXEC : 0));
      break;
    case TAG_BIND:
      step = STEP_BIND, err = bind_host (b, item);
      break;
    case TAG_PIN_LINK:
      step = STEP_PIN_LINK, err = pin_link (b, item);
      break;
    case TAG_COVER:
      step = STEP_COVER, err = cover (b, item);
      break;
    case TAG_COVER_PRIVATE:
      /* Those that were opened are mounted in turn: what else is mounted in them lies on top. */
      if (item->value || !item->arg)
        step = STEP_COVER, err = cover_private (b, item);
      break;
    case TAG_SEAL:
      step = STEP_SEAL, err = seal (b, item);
      break;
    case TAG_PROC:
      /* Sealed by a later item: a root without capabilities still owns /proc/sys and sysrq-trigger. */
      step = STEP_PROC;
      err = mount_fresh (b, "proc", item->path, MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
      if (err == 0 && item->arg)
        {
          limits_of_pids (b->root, item->arg);
          limits_of_watching (b->root);
        }
      break;
    case TAG_DEVPTS:
      step = STEP_DEVPTS;
      err = mount_fresh (b, "devpts", item->path, MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0600");
      break;
    default:
      break; /* belongs to a later stage */
    }
  if (err)
    die_at (step, index, err);
}

static int
mount_on_itself (int stage, const char *name, uint64_t attributes)
{
  int fd, tree = clone_tree (stage, name, 0);

  if (tree < 0 || sys_mount_setattr (tree, AT_EMPTY_PATH, attributes) || sys_move_mount (tree, stage, name))
    die_at (STEP_STAGE, NO_ITEM, errno);
  close (tree);
  fd = open_path (stage, name);
  if (fd < 0)
    die_at (STEP_STAGE, NO_ITEM, errno);
  return fd;
}

static void
set_stage (struct builder *b, const struct plan *plan)
{
  char options[64];
  struct stat st;

  b->host = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  snprintf (options, sizeof options, "mode=0755,size=%llu,nr_inodes=262144", (unsigned long long) plan->tmp_size);
  /* Nothing we mount may show on the host, and nothing the host mounts later may show here. */
  if (b->host < 0 || sys_mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)
      || sys_mount ("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, options))
    die_at (STEP_STAGE, NO_ITEM, errno);
  b->stage = open (STAGE, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (b->stage < 0 || mkdirat (b->stage, "root", 0755) || mkdirat (b->stage, "void-dir", 0)
      || mknodat (b->stage, "void-file", S_IFREG, 0) || fstat (b->stage, &st))
    die_at (STEP_STAGE, NO_ITEM, errno);
  b->ours = st.st_dev;
  b->from.fd = b->to.fd = -1;
  /* pivot_root wants a mount point. */
  b->root = mount_on_itself (b->stage, "root", 0);
  b->void_dir = mount_on_itself (b->stage, "void-dir", INERT | MOUNT_ATTR_RDONLY);
  b->void_file = mount_on_itself (b->stage, "void-file", INERT | MOUNT_ATTR_RDONLY);
}

/* Kept from root_enter for root_finish. */
static struct builder entered;

void
root_enter (const struct plan *plan, int secrets)
{
  mode_t mask = umask (0);
  struct shields shields;

  entered.secrets = secrets;
  streams_shield (&shields);
  set_stage (&entered, plan);
  streams_let_go (&shields, entered.stage);
  for (uint32_t i = 0; i < plan->count; i++)
    build (&entered, plan, (int) i);
  umask (mask);
  if (fchdir (entered.root) || syscall (__NR_pivot_root, ".", "."))
    die_at (STEP_PIVOT, NO_ITEM, errno);
}

void
root_finish (const struct plan *plan)
{
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == TAG_COVER_PRIVATE && plan->items[i].arg && plan->items[i].value == 0)
      {
        int err = cover_private (&entered, &plan->items[i]);
        if (err)
          die_at (STEP_COVER, (int) i, err);
      }
  /* The old root has ended up on top of the new one and is taken off: pivot_root(2), NOTES. */
  if (sys_umount (".", DETACH) || chdir ("/"))
    die_at (STEP_PIVOT, NO_ITEM, errno);
  forget (&entered.from);
  forget (&entered.to);
  close (entered.secrets);
  close (entered.host);
  close (entered.stage);
  close (entered.void_dir);
  close (entered.void_file);
  close (entered.root);
}
