/* The filter: calls that are refused, calls that are refused for some value of an argument (refusals.h), and what needs more
 * than one look to be told: how files are opened and made, and sockets. What is not named is allowed: Landlock, mounts and the lack of
 * capabilities decide about it. */
#include "launcher.h"

#include "kernel.h"
#include "refusals.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call table for this architecture"
#endif

/* Newer than the headers may be. */
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

#define LENGTH(array) (sizeof (array) / sizeof (array)[0])
#define ERRNO(err) (SECCOMP_RET_ERRNO | ((err) & SECCOMP_RET_DATA))

/* A signal to the group does not end at a pid namespace. The group is somebody else's only with a terminal, and
 * Landlock's scope, where there is one, lets such a signal reach those inside. */
static const struct refused_argument refused_on_group = { __NR_kill, 0, EQUAL, 0 };

static int
is_group_shared (uint32_t flags)
{
  int scoped = flags & FLAG_LANDLOCK && landlock_abi () >= ABI_WITH_SCOPES;
  return flags & FLAG_KEEP_TERMINAL && !(flags & FLAG_OWN_GROUP) && !scoped;
}

/* The longest filter: a load and a jump per entry, and what stands around them. */
#define MOST_INSTRUCTIONS 768

struct filter
{
  struct sock_filter code[MOST_INSTRUCTIONS];
  unsigned short length;
};

static void
emit (struct filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
  if (f->length >= MOST_INSTRUCTIONS)
    die_at (STEP_SECCOMP, NO_ITEM, E2BIG);
  f->code[f->length++] = (struct sock_filter) { code, yes, no, k };
}

#define LOAD(f, offset) emit (f, BPF_LD | BPF_W | BPF_ABS, (offset), 0, 0)
#define RETURN(f, action) emit (f, BPF_RET | BPF_K, (action), 0, 0)
/* Runs the next n instructions only if the accumulator equals k. */
#define IF_EQUAL(f, k, n) emit (f, BPF_JMP | BPF_JEQ | BPF_K, (k), 0, (n))
#define UNLESS_EQUAL(f, k, n) emit (f, BPF_JMP | BPF_JEQ | BPF_K, (k), (n), 0)
#define IF_ANY_BIT(f, k, n) emit (f, BPF_JMP | BPF_JSET | BPF_K, (k), 0, (n))

#define NUMBER offsetof (struct seccomp_data, nr)
#define ARCH offsetof (struct seccomp_data, arch)
/* Both architectures are little-endian: the low word comes first. */
#define LOW_WORD(i) (offsetof (struct seccomp_data, args) + 8 * (i))
#define HIGH_WORD(i) (LOW_WORD (i) + 4)

static void
emit_architecture (struct filter *f)
{
  LOAD (f, ARCH);
  UNLESS_EQUAL (f, NATIVE_ARCH, 1);
  RETURN (f, SECCOMP_RET_KILL_PROCESS);
  LOAD (f, NUMBER);
#ifdef X32_BIT
  /* The x32 table reaches the same calls by other numbers. */
  emit (f, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
  RETURN (f, SECCOMP_RET_KILL_PROCESS);
#endif
}

/* The rows about the first row's call, after one look at the number: most calls are none of them. Returns how many. */
static size_t
emit_call_arguments (struct filter *f, const struct refused_argument *rows, size_t count)
{
  size_t same = 0;
  uint8_t body = 1;

  for (; same < count && rows[same].nr == rows->nr; same++)
    body = (uint8_t) (body + (rows[same].compare == LAST_BYTE_ANY ? 4 : 3));
  IF_EQUAL (f, rows->nr, body);
  for (size_t i = 0; i < same; i++)
    {
      LOAD (f, LOW_WORD (rows[i].index));
      if (rows[i].compare == LAST_BYTE_ANY)
        emit (f, BPF_ALU | BPF_AND | BPF_K, ~0xffu, 0, 0);
      if (rows[i].compare == ANY_BIT)
        IF_ANY_BIT (f, rows[i].value, 1);
      else
        IF_EQUAL (f, rows[i].value, 1);
      RETURN (f, ERRNO (EPERM));
    }
  LOAD (f, NUMBER);
  return same;
}

static void
emit_arguments (struct filter *f, const struct refused_argument *rows, size_t count)
{
  for (size_t at = 0; at < count;)
    at += emit_call_arguments (f, rows + at, count - at);
}

/* No file is made with those bits either. Writing would not always take them away again: from a file whose group may not
 * execute it the kernel does not, and an access list gives that permission back without a chmod. The mode counts only
 * when something is made; otherwise it is whatever was in the register. */
static void
emit_creation (struct filter *f, uint32_t nr, uint32_t flags)
{
  IF_EQUAL (f, nr, 6);
  LOAD (f, LOW_WORD (flags));
  IF_ANY_BIT (f, O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 3);
  LOAD (f, LOW_WORD (flags + 1));
  IF_ANY_BIT (f, S_ISUID | S_ISGID, 1);
  RETURN (f, ERRNO (EPERM));
  LOAD (f, NUMBER);
}

/* What makes or empties nothing is what most programs do most, and no table is about it: so it is answered first. The kernel
 * cannot remember the answer, because for other flags it is another. */
static void
emit_plain_open (struct filter *f)
{
  IF_EQUAL (f, __NR_openat, 6);
  LOAD (f, LOW_WORD (2));
  emit (f, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY), 3, 0);
  emit (f, BPF_ALU | BPF_AND | BPF_K, ACCESS_MODE, 0, 0);
  UNLESS_EQUAL (f, ACCESS_MODE, 1);
  RETURN (f, SECCOMP_RET_ALLOW);
  LOAD (f, NUMBER);
}

/* The third way to open, for neither reading nor writing, asks Landlock for no right at all; and with the descriptor the
 * owner changes the mode, the times and the attributes of a file that he may not open. Nobody needs it. */
static void
emit_open_for_neither (struct filter *f, uint32_t nr, uint32_t flags)
{
  IF_EQUAL (f, nr, 5);
  LOAD (f, LOW_WORD (flags));
  emit (f, BPF_ALU | BPF_AND | BPF_K, ACCESS_MODE, 0, 0);
  IF_EQUAL (f, ACCESS_MODE, 1);
  RETURN (f, ERRNO (EPERM));
  LOAD (f, NUMBER);
}

/* The times of a file by its name; without one, NULL, they are those of the descriptor. */
static void
emit_times (struct filter *f)
{
  IF_EQUAL (f, __NR_utimensat, 6);
  LOAD (f, LOW_WORD (1));
  IF_EQUAL (f, 0, 2);
  LOAD (f, HIGH_WORD (1));
  UNLESS_EQUAL (f, 0, 1);
  RETURN (f, ERRNO (EPERM));
  LOAD (f, NUMBER);
}

/* A file in memory is on no mount that could be no-exec. With this flag it can never be made executable. EACCES as the
 * kernel says where vm.memfd_noexec asks for the same. */
#define MEMFD_NEVER_EXECUTABLE 0x8

static void
emit_memory_files (struct filter *f)
{
  IF_EQUAL (f, __NR_memfd_create, 4);
  LOAD (f, LOW_WORD (1));
  emit (f, BPF_JMP | BPF_JSET | BPF_K, MEMFD_NEVER_EXECUTABLE, 1, 0);
  RETURN (f, ERRNO (EACCES));
  LOAD (f, NUMBER);
}

/* Emptying a file without opening it for writing: what a Landlock before ABI 3 does not see. */
static void
emit_truncation (struct filter *f, uint32_t nr, uint32_t flags)
{
  IF_EQUAL (f, nr, 6);
  LOAD (f, LOW_WORD (flags));
  emit (f, BPF_ALU | BPF_AND | BPF_K, O_TRUNC | ACCESS_MODE, 0, 0);
  UNLESS_EQUAL (f, O_TRUNC | O_RDONLY, 1);
  IF_EQUAL (f, O_TRUNC | ACCESS_MODE, 1);
  RETURN (f, ERRNO (EPERM));
  LOAD (f, NUMBER);
}

static int
by_number (const void *a, const void *b)
{
  uint32_t left = ((const struct refused *) a)->nr, right = ((const struct refused *) b)->nr;
  return left < right ? -1 : left > right;
}

/* A search tree, not a list: the kernel runs the filter once for every system call there is when it is
 * loaded, to remember which ones are always allowed, and a list would cost more than all else we do. */
static void
emit_refused (struct filter *f, const struct refused *calls, size_t count)
{
  size_t middle = count / 2;
  unsigned short jump;

  if (count == 0)
    return;
  if (count == 1)
    {
      IF_EQUAL (f, calls->nr, 1);
      RETURN (f, ERRNO (calls->err));
      return;
    }
  jump = f->length;
  emit (f, BPF_JMP | BPF_JGE | BPF_K, calls[middle].nr, 0, 0);
  emit_refused (f, calls, middle);
  /* The left side must not fall into the right one; an unconditional jump is filled in below. */
  emit (f, BPF_JMP | BPF_JA, 0, 0, 0);
  f->code[jump].jt = (uint8_t) (f->length - jump - 1);
  jump = f->length - 1;
  emit_refused (f, calls + middle, count - middle);
  f->code[jump].k = f->length - jump - 1;
}

#define SOCKET_TYPE_MASK 0xf

/* Pairs of unix sockets only. Their two ends reach nobody else, unless they are for datagrams: such an end can be turned to
 * any socket whose path is there, by connect(2) or with each message. SOCK_RAW is another name for those. */
static void
emit_pairs (struct filter *f, uint32_t flags)
{
  int any_type = (flags & FLAG_UNIX_SOCKETS) != 0;

  IF_EQUAL (f, __NR_socketpair, any_type ? 4 : 9);
  LOAD (f, LOW_WORD (0));
  UNLESS_EQUAL (f, AF_UNIX, 1);
  RETURN (f, ERRNO (EAFNOSUPPORT));
  if (!any_type)
    {
      LOAD (f, LOW_WORD (1));
      emit (f, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE_MASK, 0, 0);
      UNLESS_EQUAL (f, SOCK_STREAM, 2);
      UNLESS_EQUAL (f, SOCK_SEQPACKET, 1);
      RETURN (f, ERRNO (EAFNOSUPPORT));
    }
  LOAD (f, NUMBER);
}

/* What programs use. The name of any other is enough to load its module into the kernel. */
static const uint32_t protocols[] = { 0, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6, IPPROTO_MPTCP };

/* Which interfaces and routes there are, as every server asks that prints where it listens (decision 0650). In a network namespace
 * of its own that is its loopback; changing anything takes capabilities that nobody has. Of netlink no other protocol. */
static void
emit_interfaces (struct filter *f)
{
  IF_EQUAL (f, __NR_socket, 6);
  LOAD (f, LOW_WORD (0));
  IF_EQUAL (f, AF_NETLINK, 3);
  LOAD (f, LOW_WORD (2));
  IF_EQUAL (f, NETLINK_ROUTE, 1);
  RETURN (f, SECCOMP_RET_ALLOW);
  LOAD (f, NUMBER);
}

/* socket(2) for the allowed families only, and no raw sockets in them. EAFNOSUPPORT: programs take it for a kernel built
 * without that family (decision 0045). */
static void
emit_sockets (struct filter *f, uint32_t flags)
{
  uint32_t allowed[3];
  uint8_t count = 0;

  if (flags & FLAG_UNIX_SOCKETS)
    allowed[count++] = AF_UNIX;
  if (flags & FLAG_INET_SOCKETS)
    {
      allowed[count++] = AF_INET;
      allowed[count++] = AF_INET6;
    }
  IF_EQUAL (f, __NR_socket, (uint8_t) (count + 6 + LENGTH (protocols) + 2));
  LOAD (f, LOW_WORD (0));
  for (uint8_t i = 0; i < count; i++)
    UNLESS_EQUAL (f, allowed[i], (uint8_t) (count - i));
  RETURN (f, ERRNO (EAFNOSUPPORT));
  LOAD (f, LOW_WORD (1));
  emit (f, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE_MASK, 0, 0);
  IF_EQUAL (f, SOCK_RAW, 1);
  RETURN (f, ERRNO (EPERM));
  LOAD (f, LOW_WORD (2));
  for (size_t i = 0; i < LENGTH (protocols); i++)
    UNLESS_EQUAL (f, protocols[i], (uint8_t) (LENGTH (protocols) - i));
  RETURN (f, ERRNO (EPROTONOSUPPORT));
}

void
seccomp_apply (const struct plan *plan)
{
  struct filter f = { .length = 0 };
  struct sock_fprog program;

  emit_architecture (&f);
  emit_plain_open (&f);
  qsort (refused, LENGTH (refused), sizeof refused[0], by_number);
  emit_refused (&f, refused, LENGTH (refused));
  if (!(plan->flags & FLAG_NAMESPACES))
    {
      qsort (refused_without_namespaces, LENGTH (refused_without_namespaces), sizeof refused[0], by_number);
      emit_refused (&f, refused_without_namespaces, LENGTH (refused_without_namespaces));
      emit_arguments (&f, refused_on_others, LENGTH (refused_on_others));
      emit_times (&f);
    }
  if (plan->flags & FLAG_NO_EXECUTION)
    emit_memory_files (&f);
  emit_arguments (&f, refused_arguments, LENGTH (refused_arguments));
  if (is_group_shared (plan->flags))
    emit_arguments (&f, &refused_on_group, 1);
  if (plan->flags & FLAG_NO_TRUNCATION)
    {
      emit_refused (&f, &(struct refused) { __NR_truncate, EPERM }, 1);
      emit_truncation (&f, __NR_openat, 2);
#ifdef __x86_64__
      emit_truncation (&f, __NR_open, 1);
#endif
    }
  emit_open_for_neither (&f, __NR_openat, 2);
  emit_creation (&f, __NR_openat, 2);
#ifdef __x86_64__
  emit_open_for_neither (&f, __NR_open, 1);
  emit_creation (&f, __NR_open, 1);
#endif
  emit_pairs (&f, plan->flags);
  if (plan->flags & FLAG_INET_SOCKETS)
    emit_interfaces (&f);
  /* Last: it leaves the accumulator with something else than the number. */
  emit_sockets (&f, plan->flags);
  RETURN (&f, SECCOMP_RET_ALLOW);
  program = (struct sock_fprog) { f.length, f.code };
  if (syscall (__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
    die_at (STEP_SECCOMP, NO_ITEM, errno);
}
