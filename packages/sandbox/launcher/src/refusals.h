/* What seccomp.c refuses, as tables. Included there only. */
#ifndef CORDON_REFUSALS_H
#define CORDON_REFUSALS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

struct refused
{
  uint32_t nr;
  uint32_t err;
};

/* Newer than the headers may be; the same numbers everywhere. */
#define NR_QUOTACTL_FD 443
#define NR_FCHMODAT2 452
#define NR_SETXATTRAT 463
#define NR_REMOVEXATTRAT 466
#define NR_OPEN_TREE_ATTR 467
#define NR_FILE_SETATTR 469

static struct refused refused[] = {
  /* A second way into the kernel that no filter sees. ENOSYS: callers fall back. */
  { __NR_io_uring_setup, ENOSYS },
  { __NR_io_uring_enter, ENOSYS },
  { __NR_io_uring_register, ENOSYS },
  /* Their flags and modes are behind a pointer, where a filter cannot look. ENOSYS: callers fall back to clone and openat. */
  { __NR_clone3, ENOSYS },
  { __NR_openat2, ENOSYS },
  /* How many requests may wait is one number for the whole machine, and one call can take it all. */
  { __NR_io_setup, ENOSYS },
  /* Other processes. */
  { __NR_ptrace, EPERM },
  { __NR_process_vm_readv, EPERM },
  { __NR_process_vm_writev, EPERM },
  { __NR_process_madvise, EPERM },
  { __NR_pidfd_getfd, EPERM },
  { __NR_kcmp, EPERM },
  /* The kernel's keyrings are not namespaced. */
  { __NR_add_key, EPERM },
  { __NR_request_key, EPERM },
  { __NR_keyctl, EPERM },
  /* The mount tree is the sandbox. */
  { __NR_mount, EPERM },
  { __NR_umount2, EPERM },
  { __NR_pivot_root, EPERM },
  { __NR_chroot, EPERM },
  { __NR_open_tree, EPERM },
  { NR_OPEN_TREE_ATTR, EPERM },
  { __NR_move_mount, EPERM },
  { __NR_fsopen, EPERM },
  { __NR_fsconfig, EPERM },
  { __NR_fsmount, EPERM },
  { __NR_fspick, EPERM },
  { __NR_mount_setattr, EPERM },
  { __NR_setns, EPERM },
  { __NR_open_by_handle_at, EPERM },
  { __NR_name_to_handle_at, EPERM },
  { __NR_quotactl, EPERM },
  { NR_QUOTACTL_FD, EPERM },
  /* Where kernels break. */
  { __NR_bpf, EPERM },
  { __NR_userfaultfd, EPERM },
  { __NR_perf_event_open, EPERM },
  { __NR_vmsplice, EPERM },
  { __NR_move_pages, EPERM },
  { __NR_migrate_pages, EPERM },
  /* The machine. */
  { __NR_kexec_load, EPERM },
  { __NR_kexec_file_load, EPERM },
  { __NR_init_module, EPERM },
  { __NR_finit_module, EPERM },
  { __NR_delete_module, EPERM },
  { __NR_reboot, EPERM },
  { __NR_swapon, EPERM },
  { __NR_swapoff, EPERM },
  { __NR_acct, EPERM },
  { __NR_syslog, EPERM },
  { __NR_settimeofday, EPERM },
  { __NR_clock_settime, EPERM },
  { __NR_adjtimex, EPERM },
  { __NR_clock_adjtime, EPERM },
  { __NR_sethostname, EPERM },
  { __NR_setdomainname, EPERM },
  { __NR_vhangup, EPERM },
#ifdef __x86_64__
  { __NR_iopl, EPERM },
  { __NR_ioperm, EPERM },
  { __NR_modify_ldt, EPERM },
  { __NR_uselib, EPERM },
#endif
};

/* Without an IPC namespace these are the host's, and neither Landlock nor a path stands before them. Nor does Landlock
 * stand before watching: a directory that may not be listed would tell the names in it as they are used. */
static struct refused refused_without_namespaces[] = {
  { __NR_shmget, EPERM },   { __NR_shmat, EPERM },  { __NR_shmctl, EPERM },     { __NR_msgget, EPERM },
  { __NR_msgsnd, EPERM },   { __NR_msgrcv, EPERM }, { __NR_msgctl, EPERM },     { __NR_semget, EPERM },
  { __NR_semop, EPERM },    { __NR_semctl, EPERM }, { __NR_semtimedop, EPERM }, { __NR_mq_open, EPERM },
  { __NR_mq_unlink, EPERM }, { __NR_inotify_init1, ENOSYS }, { __NR_fanotify_init, ENOSYS },
  /* The host's files have their names here, and Landlock guards what is in them, not who owns them, who may read them and
   * when they were changed. By name nothing of that is changed; through a descriptor it is, and Landlock decides what may
   * be opened. See also emit_times. */
  { __NR_fchmodat, EPERM }, { NR_FCHMODAT2, EPERM },    { __NR_fchownat, EPERM },     { NR_FILE_SETATTR, EPERM },
  { __NR_setxattr, EPERM }, { __NR_lsetxattr, EPERM },  { NR_SETXATTRAT, EPERM },
  { __NR_removexattr, EPERM }, { __NR_lremovexattr, EPERM }, { NR_REMOVEXATTRAT, EPERM },
#ifdef __x86_64__
  { __NR_inotify_init, ENOSYS },
  { __NR_chmod, EPERM },    { __NR_chown, EPERM },      { __NR_lchown, EPERM },       { __NR_utime, EPERM },
  { __NR_utimes, EPERM },   { __NR_futimesat, EPERM },
#endif
};

/* Refused when the argument is the value, when any bit of the value is set in it, or when they differ in the last byte only.
 * Only the low word is compared: the kernel takes these arguments as 32 bits, so the high word must not matter. */
enum compare
{
  EQUAL,
  ANY_BIT,
  LAST_BYTE_ANY
};

struct refused_argument
{
  uint32_t nr;
  uint32_t index;
  enum compare compare;
  uint32_t value;
};

#define NEW_NAMESPACES                                                                                    \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET \
   | CLONE_NEWTIME)

/* Of the kernel's <linux/kd.h> and <linux/vt.h>: the keyboard, the screen and the switching of a text console. */
#define CONSOLE_CALLS 0x4b00
#define SCREEN_CALLS 0x5600

/* Of <linux/btrfs.h> and bcachefs: a second copy of a whole subvolume, with what we have covered in it. */
#define BTRFS_SNAPSHOT 0x50009401
#define BTRFS_SNAPSHOT_V2 0x50009417
#define BCACHEFS_SUBVOLUME 0x4020bc10

#define IOPRIO_WHO_GROUP 2

/* F_SETDELEG of Linux 6.19: a lease by another name, also on directories. */
#define SET_DELEGATION (1024 + 16)

/* Rows about one call stand together. */
static const struct refused_argument refused_arguments[] = {
  { __NR_unshare, 0, ANY_BIT, NEW_NAMESPACES },
  /* CLONE_NEWTIME shares its bit with the exit signal of clone, which cannot make a time namespace. */
  { __NR_clone, 0, ANY_BIT, NEW_NAMESPACES & ~CLONE_NEWTIME },
  /* Typing into the terminal that started us. */
  { __NR_ioctl, 1, EQUAL, TIOCSTI },
  { __NR_ioctl, 1, EQUAL, TIOCLINUX },
  /* What would stay with that terminal when we are gone, and no `reset` undoes: another line discipline, nobody else may
   * open it, its output stopped, its keyboard switched off. */
  { __NR_ioctl, 1, EQUAL, TIOCSETD },
  { __NR_ioctl, 1, EQUAL, TIOCEXCL },
  { __NR_ioctl, 1, EQUAL, TCXONC },
  { __NR_ioctl, 1, LAST_BYTE_ANY, CONSOLE_CALLS },
  { __NR_ioctl, 1, LAST_BYTE_ANY, SCREEN_CALLS },
  /* From any file of one's own in it, older kernels copy the subvolume: a home, of which the workspace is a part. */
  { __NR_ioctl, 1, EQUAL, BTRFS_SNAPSHOT },
  { __NR_ioctl, 1, EQUAL, BTRFS_SNAPSHOT_V2 },
  { __NR_ioctl, 1, EQUAL, BCACHEFS_SUBVOLUME },
  /* A filesystem has a keyring too, and what is put there stays until it is unmounted. */
  { __NR_ioctl, 1, EQUAL, FS_IOC_ADD_ENCRYPTION_KEY },
  /* With a terminal our process group is that of whoever started us, and a group does not end at a pid namespace. */
  { __NR_setpriority, 0, EQUAL, PRIO_PGRP },
  { __NR_ioprio_set, 0, EQUAL, IOPRIO_WHO_GROUP },
  /* Pid 1 is of the same user. With a limit on the size of files it could not say how the tool ended. */
  { __NR_prlimit64, 0, EQUAL, 1 },
  /* Its owner may hold up whoever opens a file for writing, which for root is most of /etc. */
  { __NR_fcntl, 1, EQUAL, F_SETLEASE },
  { __NR_fcntl, 1, EQUAL, SET_DELEGATION },
  /* A file with these bits would outlive the sandbox, with the rights of whoever ran it for everybody else. See also
   * emit_creation. */
  { __NR_fchmod, 1, ANY_BIT, S_ISUID | S_ISGID },
  { __NR_fchmodat, 2, ANY_BIT, S_ISUID | S_ISGID },
  { NR_FCHMODAT2, 2, ANY_BIT, S_ISUID | S_ISGID },
  { __NR_mknodat, 2, ANY_BIT, S_ISUID | S_ISGID },
#ifdef __x86_64__
  { __NR_chmod, 1, ANY_BIT, S_ISUID | S_ISGID },
  { __NR_creat, 1, ANY_BIT, S_ISUID | S_ISGID },
  { __NR_mknod, 1, ANY_BIT, S_ISUID | S_ISGID },
#endif
};

/* Without a pid namespace the processes of the host have numbers here, and Landlock's scope is about signals only. A limit of
 * processor time kills like one; never to be scheduled is not much better. So only oneself (0), and no group or user. */
static const struct refused_argument refused_on_others[] = {
  { __NR_prlimit64, 0, ANY_BIT, ~0u },
  { __NR_setpriority, 0, ANY_BIT, PRIO_PGRP | PRIO_USER },
  { __NR_setpriority, 1, ANY_BIT, ~0u },
  { __NR_ioprio_set, 0, ANY_BIT, IOPRIO_WHO_GROUP },
  { __NR_ioprio_set, 1, ANY_BIT, ~0u },
  { __NR_sched_setaffinity, 0, ANY_BIT, ~0u },
  { __NR_sched_setscheduler, 0, ANY_BIT, ~0u },
  { __NR_sched_setparam, 0, ANY_BIT, ~0u },
  { __NR_sched_setattr, 0, ANY_BIT, ~0u },
};

#endif
