/* A look through a directory for what is not for everybody: a secret is what is not readable by everybody, because as root, or in
 * a privileged group, permissions alone would not protect it. The same rule as src/plan/secrets.ts, which a test compares. */
#ifndef CORDON_WALK_H
#define CORDON_WALK_H

#include "buffer.h"
#include "names.h"

#include <sys/types.h>

struct walk
{
  int root;               /* what paths begin at */
  dev_t ours;             /* what lies on this device covers something already */
  struct names *names;    /* what is remembered of directories, NULL for nothing */
  int top;                /* the directory that is looked through, */
  size_t top_size;        /* the length of its path, */
  dev_t device;           /* and where it lies: others are not remembered */
  struct directory *open; /* to be looked into */
  struct buffer leaves;   /* the names in the one that is being read */
  struct buffer secrets;  /* what was found: paths, each with its NUL */
};

/* Looks through top; names may be NULL. 0 or an errno. */
int walk_through (struct walk *walk, const char *top, struct names *names);

#endif
