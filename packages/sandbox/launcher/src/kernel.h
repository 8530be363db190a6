/* System calls and constants that older libc headers lack. Numbers are the same on every
 * architecture we build for: they come from the unified table. */
#ifndef CORDON_KERNEL_H
#define CORDON_KERNEL_H

#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

/* The whole attribute of ABI 6, which a 6.1 header does not know. */
struct ruleset_attr
{
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};
#define NET_BIND_TCP (1ULL << 0)
#define NET_CONNECT_TCP (1ULL << 1)
#define ABI_WITH_SCOPES 6
#define SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

/* What of a file's flags says for what it is open; all of it set is the third way, for neither (seccomp.c). The kernel's O_ACCMODE:
 * musl's has O_PATH in it too, which no flags equal. */
#define ACCESS_MODE 3

/* What getdents64(2) fills in; older libcs have no name for it. */
struct linux_dirent64
{
  uint64_t d_ino;
  int64_t d_off;
  unsigned short d_reclen;
  unsigned char d_type;
  char d_name[];
};

/* <sys/mount.h> and <linux/mount.h> exclude each other in older libcs, and only the second knows
 * mount_setattr. */
#define DETACH 2
#define PRIVATE (1 << 18)

static inline int
sys_mount (const char *source, const char *target, const char *type, unsigned long flags, const char *data)
{
  return (int) syscall (__NR_mount, source, target, type, flags, data);
}

static inline int
sys_umount (const char *target, int flags)
{
  return (int) syscall (__NR_umount2, target, flags);
}

static inline int
sys_openat2 (int dir, const char *path, uint64_t flags, uint64_t resolve)
{
  struct open_how how = { .flags = flags, .resolve = resolve };
  return (int) syscall (__NR_openat2, dir, path, &how, sizeof how);
}

static inline int
sys_open_tree (int dir, const char *path, unsigned flags)
{
  return (int) syscall (__NR_open_tree, dir, path, flags);
}

static inline int
sys_move_mount (int from, int dir, const char *name)
{
  return (int) syscall (__NR_move_mount, from, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH);
}

static inline int
sys_mount_setattr (int fd, unsigned flags, uint64_t set)
{
  struct mount_attr attr = { .attr_set = set };
  return (int) syscall (__NR_mount_setattr, fd, "", flags, &attr, sizeof attr);
}

static inline int
landlock_abi (void)
{
  return (int) syscall (__NR_landlock_create_ruleset, NULL, 0, 1 /* VERSION */);
}

#endif
