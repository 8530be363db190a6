#include "environment.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

#define PLAN_VARIABLE "CORDON_PLAN"

static char *first, *last;

/* The kernel lays the strings out one after the other, the arguments before the environment. */
void
environment_find (char **argv)
{
  char **end = argv;
  first = argv[0];
  while (end[0])
    last = *end++;
  for (end = environ; end[0]; end++)
    last = *end;
  last += strlen (last);
}

void
environment_wipe (const char *name)
{
  static char *none[] = { NULL };
  size_t room = (size_t) (last - first);
  environ = none;
  explicit_bzero (first, room);
  if (strlen (name) < room)
    strcpy (first, name);
}

static int
digit (char c)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = c ? strchr (digits, c) : NULL;
  return at ? (int) (at - digits) : -1;
}

/* Returns the number of bytes, or -1. */
static long
decode (const char *text, unsigned char *out)
{
  uint32_t bits = 0;
  int have = 0;
  unsigned char *start = out;

  for (; *text; text++)
    {
      int value = digit (*text);
      if (value < 0)
        return -1;
      bits = bits << 6 | (uint32_t) value;
      have += 6;
      if (have >= 8)
        *out++ = (unsigned char) (bits >> (have -= 8));
    }
  return (long) (out - start);
}

int
environment_take_plan (unsigned char **bytes, size_t *size)
{
  const char *text = getenv (PLAN_VARIABLE);
  long got;

  if (text == NULL)
    return EINVAL;
  *bytes = malloc (strlen (text) + 1);
  if (*bytes == NULL)
    return ENOMEM;
  got = decode (text, *bytes);
  if (got < 0)
    return EBADMSG;
  *size = (size_t) got;
  return unsetenv (PLAN_VARIABLE) ? errno : 0;
}
