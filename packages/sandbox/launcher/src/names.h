/* Which names a directory has, remembered from one start to the next (decision 0402).
 *
 * To read a directory takes the kernel as long as to look at eight files. What it holds changes only together with its ctime,
 * which nobody can set. Whether a file is for everybody is never remembered: a chmod leaves no trace in the directory. */
#ifndef CORDON_NAMES_H
#define CORDON_NAMES_H

#include "buffer.h"

#include <sys/stat.h>
#include <time.h>

struct names
{
  const char *file;    /* NULL when nothing is to be written */
  time_t settled;      /* what changed later than this may change once more without another ctime */
  struct buffer known; /* what the file said */
  size_t next;         /* where in it we go on: we are asked in the order in which it was written */
  struct buffer kept;  /* what it will say */
  int is_new;          /* which is more than it said */
};

/* Whatever cannot be read, or is not what we wrote, remembers nothing. No file: NULL. */
void names_open (struct names *names, const char *file);

/* Whether directories on this filesystem can be remembered. */
int names_can_be_kept (int dir);

/* The names in a directory of this status but for links, each with its NUL, in *size bytes; NULL when they are not remembered. */
const char *names_find (struct names *names, const struct stat *dir, size_t *size);

/* That it has these, which were read after its status was. Kept only where nobody but root could change them. */
void names_learn (struct names *names, const struct stat *dir, const char *text, size_t size);

/* Writes the file, if it would say more. That it could not be written costs time at the next start, nothing more. */
void names_close (struct names *names);

#endif
