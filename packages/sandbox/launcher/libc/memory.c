/* Bytes, strings and memory. The compiler knows the loops below for what they are and would make each a call of itself;
 * KEEP_LOOP keeps it from that. */
#include "call.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define KEEP_LOOP __asm__ volatile ("" ::: "memory")

void *
memcpy (void *restrict to, const void *restrict from, size_t size)
{
#ifdef __x86_64__
  void *at = to;
  __asm__ volatile ("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
#else
  for (size_t i = 0; i < size; i++)
    {
      ((char *) to)[i] = ((const char *) from)[i];
      KEEP_LOOP;
    }
#endif
  return to;
}

void *
memset (void *to, int value, size_t size)
{
#ifdef __x86_64__
  void *at = to;
  __asm__ volatile ("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
#else
  for (size_t i = 0; i < size; i++)
    {
      ((char *) to)[i] = (char) value;
      KEEP_LOOP;
    }
#endif
  return to;
}

void
explicit_bzero (void *at, size_t size)
{
  memset (at, 0, size);
  KEEP_LOOP;
}

void *
memchr (const void *bytes, int value, size_t size)
{
  for (const unsigned char *at = bytes; size > 0; at++, size--)
    if (*at == (unsigned char) value)
      return (void *) at;
  return NULL;
}

size_t
strlen (const char *text)
{
  size_t size = 0;
  for (; text[size]; size++)
    KEEP_LOOP;
  return size;
}

int
strncmp (const char *a, const char *b, size_t size)
{
  for (; size > 0; a++, b++, size--)
    if (*a != *b || *a == 0)
      return (unsigned char) *a - (unsigned char) *b;
  return 0;
}

int
strcmp (const char *a, const char *b)
{
  return strncmp (a, b, SIZE_MAX);
}

char *
strcpy (char *restrict to, const char *restrict from)
{
  return memcpy (to, from, strlen (from) + 1);
}

char *
strchr (const char *text, int c)
{
  return memchr (text, c, strlen (text) + 1);
}

char *
strrchr (const char *text, int c)
{
  for (size_t i = strlen (text) + 1; i > 0; i--)
    if (text[i - 1] == (char) c)
      return (char *) text + i - 1;
  return NULL;
}

char *
strstr (const char *text, const char *part)
{
  size_t size = strlen (part);
  for (;; text++)
    {
      if (strncmp (text, part, size) == 0)
        return (char *) text;
      if (*text == 0)
        return NULL;
    }
}

/* Few and short-lived: each has pages of its own, and its size in front. */
struct block
{
  size_t size;
  size_t aligned;
};

void *
malloc (size_t size)
{
  struct block *block;
  long at;

  if (size > PTRDIFF_MAX - sizeof *block)
    return errno = ENOMEM, NULL;
  at = call (SYS_mmap, 0, (long) (size + sizeof *block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at < 0 && at >= -4095)
    return errno = ENOMEM, NULL;
  block = (struct block *) at;
  block->size = size + sizeof *block;
  return block + 1;
}

static struct block *
block_of (void *bytes)
{
  return (struct block *) bytes - 1;
}

void
free (void *bytes)
{
  if (bytes)
    call (SYS_munmap, (long) block_of (bytes), (long) block_of (bytes)->size, 0, 0, 0, 0);
}

/* New pages are zero. */
void *
calloc (size_t count, size_t size)
{
  if (size && count > PTRDIFF_MAX / size)
    return errno = ENOMEM, NULL;
  return malloc (count * size);
}

void *
realloc (void *bytes, size_t size)
{
  void *to = malloc (size);

  if (to && bytes)
    {
      size_t before = block_of (bytes)->size - sizeof (struct block);
      memcpy (to, bytes, before < size ? before : size);
      free (bytes);
    }
  return to;
}

/* By insertion: for the few dozen entries of a table. */
void
qsort (void *base, size_t count, size_t size, int (*compare) (const void *, const void *))
{
  char one[64], *first = base;

  if (size > sizeof one)
    __builtin_trap ();
  for (size_t i = 1; i < count; i++)
    {
      size_t to = i;
      memcpy (one, first + i * size, size);
      for (; to > 0 && compare (one, first + (to - 1) * size) < 0; to--)
        memcpy (first + to * size, first + (to - 1) * size, size);
      memcpy (first + to * size, one, size);
    }
}
