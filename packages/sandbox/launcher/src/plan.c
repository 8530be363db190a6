#include "plan.h"

#include "bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A record on the wire, native byte order: the host is the same machine. Its two strings, each with its terminating NUL
 * counted, follow after all records. */
struct record
{
  uint32_t tag;
  uint32_t arg;
  uint64_t value;
  uint32_t path_size;
  uint32_t other_size;
};

struct cursor
{
  const unsigned char *at;
  size_t left;
};

static int
take (struct cursor *cursor, void *out, size_t size)
{
  if (cursor->left < size)
    return EBADMSG;
  memcpy (out, cursor->at, size);
  cursor->at += size;
  cursor->left -= size;
  return 0;
}

/* A string that stays where it is: its NUL must be its last byte and its only one. */
static int
take_string (struct cursor *cursor, size_t size, const char **out)
{
  if (size == 0 || cursor->left < size)
    return EBADMSG;
  if (memchr (cursor->at, 0, size) != cursor->at + size - 1)
    return EBADMSG;
  *out = (const char *) cursor->at;
  cursor->at += size;
  cursor->left -= size;
  return 0;
}

/* The tags whose path is opened: absolute, so that one rule (below the root we hold) fits all. */
static int
has_path (uint32_t tag)
{
  switch (tag)
    {
    case TAG_FLAGS:
    case TAG_LIMIT:
    case TAG_LISTEN:
    case TAG_TMP_SIZE:
    case TAG_ARG:
    case TAG_ENV:
    case TAG_HOST:
      return 0;
    default:
      return 1;
    }
}

static int
take_item (struct cursor *records, struct cursor *strings, struct item *item)
{
  struct record record;
  if (take (records, &record, sizeof record) || take_string (strings, record.path_size, &item->path)
      || take_string (strings, record.other_size, &item->other))
    return EBADMSG;
  item->tag = record.tag;
  item->arg = record.arg;
  item->value = record.value;
  if (item->tag == 0 || item->tag >= TAG_END)
    return EINVAL;
  if (has_path (item->tag) && item->path[0] != '/')
    return EINVAL;
  return 0;
}

int
plan_parse (const unsigned char *bytes, size_t size, struct plan *plan, int *item)
{
  struct cursor cursor = { bytes, size }, strings;
  uint32_t magic, count;

  *item = -1;
  memset (plan, 0, sizeof *plan);
  if (take (&cursor, &magic, sizeof magic) || take (&cursor, &count, sizeof count))
    return EBADMSG;
  /* Each record is at least its header and two NULs, which bounds count before calloc sees it. */
  if (magic != PLAN_MAGIC || count > cursor.left / (sizeof (struct record) + 2))
    return EBADMSG;
  strings.at = cursor.at + count * sizeof (struct record);
  strings.left = cursor.left - count * sizeof (struct record);
  plan->items = calloc ((size_t) count + 1, sizeof *plan->items);
  if (plan->items == NULL)
    return ENOMEM;
  for (plan->count = 0; plan->count < count; plan->count++)
    {
      struct item *next = &plan->items[plan->count];
      int err = take_item (&cursor, &strings, next);
      *item = (int) plan->count;
      if (err)
        return err;
      if (next->tag == TAG_FLAGS)
        plan->flags = (uint32_t) next->value;
      if (next->tag == TAG_TMP_SIZE)
        plan->tmp_size = next->value;
    }
  *item = -1;
  return strings.left == 0 ? 0 : EBADMSG;
}

int
plan_read (int fd, unsigned char **bytes, size_t *size)
{
  uint32_t length;
  int err = read_exactly (fd, &length, sizeof length);
  if (err)
    return err;
  if (length > PLAN_MAX_BYTES)
    return EMSGSIZE;
  *bytes = malloc (length > 0 ? length : 1);
  if (*bytes == NULL)
    return ENOMEM;
  *size = length;
  return read_exactly (fd, *bytes, length);
}

char **
plan_strings (const struct plan *plan, uint32_t tag)
{
  size_t found = 0;
  char **strings = calloc ((size_t) plan->count + 1, sizeof *strings);

  for (uint32_t i = 0; strings && i < plan->count; i++)
    if (plan->items[i].tag == tag)
      strings[found++] = (char *) plan->items[i].path;
  return strings;
}

const struct item *
plan_find (const struct plan *plan, uint32_t tag, int *index)
{
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == tag)
      {
        *index = (int) i;
        return &plan->items[i];
      }
  return NULL;
}
