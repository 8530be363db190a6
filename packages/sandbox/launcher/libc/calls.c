/* The calls that the launcher makes, each under its usual name. Where an architecture has only the newer of two calls, the
 * newer is used on both. */
#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* There is one thread. */
int *
__errno_location (void)
{
  static int last;
  return &last;
}

static long
checked (long result)
{
  if (result >= 0 || result < -4095)
    return result;
  errno = (int) -result;
  return -1;
}

#define WORD(x) ((long) (x))
#define CALL0(number) checked (call (number, 0, 0, 0, 0, 0, 0))
#define CALL1(number, a) checked (call (number, WORD (a), 0, 0, 0, 0, 0))
#define CALL2(number, a, b) checked (call (number, WORD (a), WORD (b), 0, 0, 0, 0))
#define CALL3(number, a, b, c) checked (call (number, WORD (a), WORD (b), WORD (c), 0, 0, 0))
#define CALL4(number, a, b, c, d) checked (call (number, WORD (a), WORD (b), WORD (c), WORD (d), 0, 0))
#define CALL5(number, a, b, c, d, e) checked (call (number, WORD (a), WORD (b), WORD (c), WORD (d), WORD (e), 0))

long
syscall (long number, ...)
{
  long a[6];
  va_list args;
  va_start (args, number);
  for (int i = 0; i < 6; i++)
    a[i] = va_arg (args, long);
  va_end (args);
  return checked (call (number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

/* The last argument of those that have one or not, as their numbers say. */
#define TAKE_OPTIONAL(after, type, name) \
  type name;                             \
  va_list args;                          \
  va_start (args, after);                \
  name = va_arg (args, type);            \
  va_end (args)

/* Processes. */

_Noreturn void
_exit (int status)
{
  for (;;)
    call (SYS_exit_group, status, 0, 0, 0, 0, 0);
}

pid_t
fork (void)
{
  return (pid_t) CALL1 (SYS_clone, SIGCHLD);
}

int
execve (const char *path, char *const argv[], char *const env[])
{
  return (int) CALL3 (SYS_execve, path, argv, env);
}

int
execv (const char *path, char *const argv[])
{
  return execve (path, argv, environ);
}

pid_t
waitpid (pid_t pid, int *status, int options)
{
  return (pid_t) CALL4 (SYS_wait4, pid, status, options, 0);
}

pid_t
getpid (void)
{
  return (pid_t) CALL0 (SYS_getpid);
}

uid_t
geteuid (void)
{
  return (uid_t) CALL0 (SYS_geteuid);
}

gid_t
getegid (void)
{
  return (gid_t) CALL0 (SYS_getegid);
}

pid_t
setsid (void)
{
  return (pid_t) CALL0 (SYS_setsid);
}

pid_t
getpgrp (void)
{
  return (pid_t) CALL1 (SYS_getpgid, 0);
}

int
setpgid (pid_t pid, pid_t group)
{
  return (int) CALL2 (SYS_setpgid, pid, group);
}

int
prctl (int option, ...)
{
  unsigned long a[4];
  va_list args;
  va_start (args, option);
  for (int i = 0; i < 4; i++)
    a[i] = va_arg (args, unsigned long);
  va_end (args);
  return (int) CALL5 (SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

int
getrlimit (__rlimit_resource_t resource, struct rlimit *limit)
{
  return (int) CALL4 (SYS_prlimit64, 0, resource, 0, limit);
}

int
setrlimit (__rlimit_resource_t resource, const struct rlimit *limit)
{
  return (int) CALL4 (SYS_prlimit64, 0, resource, limit, 0);
}

int
getrusage (__rusage_who_t who, struct rusage *usage)
{
  return (int) CALL2 (SYS_getrusage, who, usage);
}

/* Signals. The kernel's set is the first word of libc's. */

#define KERNEL_SET_SIZE 8

struct kernel_sigaction
{
  void (*handler) (int);
  unsigned long flags;
  void (*restorer) (void);
  uint64_t mask;
};

/* Only to ignore one or to take its default: a handler would need a way back from it. */
__sighandler_t
signal (int sig, __sighandler_t handler)
{
  struct kernel_sigaction to = { .handler = handler }, from;
  return CALL4 (SYS_rt_sigaction, sig, &to, &from, KERNEL_SET_SIZE) ? SIG_ERR : from.handler;
}

int
kill (pid_t pid, int sig)
{
  return (int) CALL2 (SYS_kill, pid, sig);
}

int
sigemptyset (sigset_t *set)
{
  memset (set, 0, sizeof *set);
  return 0;
}

int
sigaddset (sigset_t *set, int sig)
{
  uint64_t word;
  memcpy (&word, set, sizeof word);
  word |= (uint64_t) 1 << (sig - 1);
  memcpy (set, &word, sizeof word);
  return 0;
}

int
sigprocmask (int how, const sigset_t *set, sigset_t *before)
{
  return (int) CALL4 (SYS_rt_sigprocmask, how, set, before, KERNEL_SET_SIZE);
}

int
signalfd (int fd, const sigset_t *set, int flags)
{
  return (int) CALL4 (SYS_signalfd4, fd, set, KERNEL_SET_SIZE, flags);
}

/* Descriptors. */

int
openat (int dir, const char *path, int flags, ...)
{
  TAKE_OPTIONAL (flags, int, mode);
  return (int) CALL4 (SYS_openat, dir, path, flags, flags & O_CREAT ? mode : 0);
}

int
open (const char *path, int flags, ...)
{
  TAKE_OPTIONAL (flags, int, mode);
  return (int) CALL4 (SYS_openat, AT_FDCWD, path, flags, flags & O_CREAT ? mode : 0);
}

int
close (int fd)
{
  return (int) CALL1 (SYS_close, fd);
}

ssize_t
read (int fd, void *out, size_t size)
{
  return CALL3 (SYS_read, fd, out, size);
}

ssize_t
pread (int fd, void *out, size_t size, off_t at)
{
  return CALL4 (SYS_pread64, fd, out, size, at);
}

ssize_t
write (int fd, const void *bytes, size_t size)
{
  return CALL3 (SYS_write, fd, bytes, size);
}

off_t
lseek (int fd, off_t to, int whence)
{
  return CALL3 (SYS_lseek, fd, to, whence);
}

/* dup3 refuses to do nothing. */
int
dup2 (int from, int to)
{
  if (from == to)
    return CALL2 (SYS_fcntl, from, F_GETFD) < 0 ? -1 : to;
  return (int) CALL3 (SYS_dup3, from, to, 0);
}

int
pipe2 (int fds[2], int flags)
{
  return (int) CALL2 (SYS_pipe2, fds, flags);
}

int
fcntl (int fd, int command, ...)
{
  TAKE_OPTIONAL (command, long, value);
  return (int) CALL3 (SYS_fcntl, fd, command, value);
}

int
ioctl (int fd, unsigned long request, ...)
{
  TAKE_OPTIONAL (request, void *, value);
  return (int) CALL3 (SYS_ioctl, fd, request, value);
}

int
isatty (int fd)
{
  char settings[64]; /* more than the kernel's struct termios */
  return ioctl (fd, TCGETS, settings) == 0;
}

/* Waits for ever when below zero. */
int
poll (struct pollfd *fds, nfds_t count, int milliseconds)
{
  struct timespec most = { .tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L };
  return (int) CALL5 (SYS_ppoll, fds, count, milliseconds < 0 ? NULL : &most, 0, KERNEL_SET_SIZE);
}

int
eventfd (unsigned int count, int flags)
{
  return (int) CALL2 (SYS_eventfd2, count, flags);
}

int
eventfd_read (int fd, eventfd_t *value)
{
  return read (fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}

int
eventfd_write (int fd, eventfd_t value)
{
  return write (fd, &value, sizeof value) == sizeof value ? 0 : -1;
}

int
socket (int family, int type, int protocol)
{
  return (int) CALL3 (SYS_socket, family, type, protocol);
}

int
bind (int fd, const struct sockaddr *address, socklen_t size)
{
  return (int) CALL3 (SYS_bind, fd, address, size);
}

int
listen (int fd, int backlog)
{
  return (int) CALL2 (SYS_listen, fd, backlog);
}

ssize_t
sendmsg (int fd, const struct msghdr *message, int flags)
{
  return CALL3 (SYS_sendmsg, fd, message, flags);
}

/* Files. */

int
fstat (int fd, struct stat *out)
{
  return (int) CALL2 (SYS_fstat, fd, out);
}

int
fstatat (int dir, const char *path, struct stat *out, int flags)
{
  return (int) CALL4 (SYS_newfstatat, dir, path, out, flags);
}

int
statfs (const char *path, struct statfs *out)
{
  return (int) CALL2 (SYS_statfs, path, out);
}

int
mkdirat (int dir, const char *path, mode_t mode)
{
  return (int) CALL3 (SYS_mkdirat, dir, path, mode);
}

int
mknodat (int dir, const char *path, mode_t mode, dev_t device)
{
  return (int) CALL4 (SYS_mknodat, dir, path, mode, device);
}

int
symlinkat (const char *target, int dir, const char *path)
{
  return (int) CALL3 (SYS_symlinkat, target, dir, path);
}

/* Flags need a newer call than every kernel has, and nobody here passes any. */
int
fchmodat (int dir, const char *path, mode_t mode, int flags)
{
  if (flags)
    return errno = ENOSYS, -1;
  return (int) CALL3 (SYS_fchmodat, dir, path, mode);
}

mode_t
umask (mode_t mask)
{
  return (mode_t) CALL1 (SYS_umask, mask);
}

int
chdir (const char *path)
{
  return (int) CALL1 (SYS_chdir, path);
}

int
fchdir (int fd)
{
  return (int) CALL1 (SYS_fchdir, fd);
}
