/* The plan as the host wrote it (src/linux/encode.ts). Nothing here touches the system. */
#ifndef CORDON_PLAN_H
#define CORDON_PLAN_H

#include <stddef.h>
#include <stdint.h>

#define PLAN_MAGIC 0x324e4c50u /* "PLN2" */
#define PLAN_MAX_BYTES (8u << 20)

enum tag
{
  TAG_FLAGS = 1, /* value: enum plan_flag bits */
  TAG_LIMIT,     /* arg: RLIMIT_*, value: the limit */
  TAG_DIR,       /* path in the new root, arg: mode */
  TAG_FILE,      /* an empty file to mount on */
  TAG_LINK,      /* path, other: what it points to */
  TAG_PRIVATE,   /* a place on our tmpfs, arg: mode; nothing in it is executed under FLAG_NO_EXECUTION */
  TAG_BIND,      /* path on the host, mounted on the same path; arg: MOUNT_ATTR_* */
  TAG_PIN_LINK,  /* a symlink, bound over itself so that it can be neither moved nor removed */
  TAG_COVER,     /* path becomes unreadable; arg: 1 when something is bound back inside it */
  TAG_SEAL,      /* path, a mount of ours, becomes read-only */
  TAG_PROC,      /* arg: the highest pid inside, 0 for the kernel's own */
  TAG_DEVPTS,
  TAG_ALLOW,     /* path, value: LANDLOCK_ACCESS_FS_* */
  TAG_LISTEN,    /* path: an address on the sandbox's loopback, arg: its port, value: 1 for UDP; handed to the host */
  TAG_CWD,
  TAG_EXEC,
  TAG_TMP_SIZE,  /* value: bytes of the tmpfs behind every private place */
  TAG_CONTENT,   /* a file, new on our tmpfs or in front of the one that is there; other: its text */
  TAG_COVER_PRIVATE, /* whatever below path is not for everybody becomes unreadable (secrets.c); arg: 1 for last of all; value: never
                        from the host, see secrets_disown */
  TAG_ARG,       /* path: one word of the tool's command line, from its name on */
  TAG_ENV,       /* path: NAME=value, one variable of the tool's environment */
  TAG_HOST,      /* arg: the pid of who started us */
  TAG_LEFT,      /* what lies here at the end is reported; arg: 1 for what lies in such a place and is not (left.c) */
  TAG_REPLACED,  /* a file on our tmpfs; arg: the descriptor that it is copied from, if value is 1, and to in the end */
  TAG_NAMES,     /* the file that remembers which names directories have (names.h) */
  TAG_END
};

enum plan_flag
{
  FLAG_NAMESPACES = 1 << 0,
  FLAG_LANDLOCK = 1 << 1,
  FLAG_KEEP_TERMINAL = 1 << 2, /* stay in the session of the terminal */
  FLAG_UNIX_SOCKETS = 1 << 3,
  FLAG_INET_SOCKETS = 1 << 4,
  FLAG_KEEP_ERRORS = 1 << 5,   /* stderr passes through us, and the end of it is reported (relay.h) */
  FLAG_NO_TRUNCATION = 1 << 6, /* the host's files are there, and this Landlock lets them be emptied */
  FLAG_OWN_GROUP = 1 << 7,     /* never from the host: the tool has the terminal to itself (terminal.h) */
  FLAG_NO_EXECUTION = 1 << 8,  /* no rule grants execute: nothing that the tool wrote may be started from anywhere */
  FLAG_KEEP_OUTPUT = 1 << 9,   /* with FLAG_KEEP_ERRORS: stdout passes the same way, in the order it was written */
  FLAG_KEEP_OUTPUT_APART = 1 << 10, /* stdout passes through us to where it goes, like stderr */
};

struct item
{
  uint32_t tag;
  uint32_t arg;
  uint64_t value;
  const char *path;
  const char *other;
};

struct plan
{
  struct item *items;
  uint32_t count;
  uint32_t flags;
  uint64_t tmp_size;
};

/* Returns 0, or an errno with *item set to the record that is wrong. The strings point into bytes. */
int plan_parse (const unsigned char *bytes, size_t size, struct plan *plan, int *item);

/* Reads one length-prefixed plan; 0 or an errno. */
int plan_read (int fd, unsigned char **bytes, size_t *size);

/* The paths of all items with this tag, and a NULL: an argv, or an environ. NULL without memory. */
char **plan_strings (const struct plan *plan, uint32_t tag);

/* The first item with this tag, or NULL; *index is its place in the plan. */
const struct item *plan_find (const struct plan *plan, uint32_t tag, int *index);

#endif
