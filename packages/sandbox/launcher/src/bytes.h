/* What comes through a pipe or a socket comes in pieces. */
#ifndef CORDON_BYTES_H
#define CORDON_BYTES_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* 0 or an errno; EPIPE when it ends before. */
static inline int
read_exactly (int fd, void *out, size_t size)
{
  unsigned char *at = out;
  while (size > 0)
    {
      ssize_t got = read (fd, at, size);
      if (got == 0)
        return EPIPE;
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return errno;
      at += got;
      size -= (size_t) got;
    }
  return 0;
}

/* 0 or an errno. */
static inline int
write_all (int fd, const void *bytes, size_t size)
{
  const char *at = bytes;
  while (size > 0)
    {
      ssize_t put = write (fd, at, size);
      if (put < 0 && errno != EINTR)
        return errno;
      if (put > 0)
        at += put, size -= (size_t) put;
    }
  return 0;
}

#endif
