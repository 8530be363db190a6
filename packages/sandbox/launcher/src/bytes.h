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

#endif
