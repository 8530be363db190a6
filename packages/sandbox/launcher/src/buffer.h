/* Bytes that grow. */
#ifndef CORDON_BUFFER_H
#define CORDON_BUFFER_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct buffer
{
  char *bytes;
  size_t size;
  size_t room;
};

/* Where the next need bytes go, which count already; NULL without memory. */
static inline char *
buffer_more (struct buffer *buffer, size_t need)
{
  if (buffer->room - buffer->size < need)
    {
      size_t room = 2 * buffer->room + need + 4096;
      char *bytes = realloc (buffer->bytes, room);
      if (bytes == NULL)
        return NULL;
      buffer->bytes = bytes;
      buffer->room = room;
    }
  buffer->size += need;
  return buffer->bytes + buffer->size - need;
}

/* 0 or an errno. */
static inline int
buffer_add (struct buffer *buffer, const void *bytes, size_t size)
{
  char *to = buffer_more (buffer, size);
  if (to == NULL)
    return ENOMEM;
  memcpy (to, bytes, size);
  return 0;
}

#endif
