#include "names.h"

#include "bytes.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAGIC 0x31534d414e445243u /* "CRDNAMS1" */
#define MOST_BYTES (8u << 20)
/* Longer than any clock's tick, and than the coarsest ctime: what is younger is read again. */
#define SETTLED_SECONDS 3
#define WRITE_BY_OTHERS 0022

/* The file: a head, then for each directory a record and its names. Native byte order: it is of this machine. */
struct head
{
  uint64_t magic;
  uint64_t sum; /* of all that follows: a crash may leave a part of the file */
};

struct record
{
  uint64_t dev, ino, seconds, nanoseconds;
  uint64_t size; /* of the names */
};

static uint64_t
sum_of (const char *bytes, size_t size)
{
  uint64_t word, sum = size;
  for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word)
    {
      memcpy (&word, bytes, sizeof word);
      sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
      sum ^= sum >> 32;
    }
  for (; size > 0; bytes++, size--)
    sum = (sum ^ (unsigned char) *bytes) * 0x100000001b3u;
  return sum;
}

/* The record at this place and the names behind it, or 0 when there is none. */
static int
record_at (const struct buffer *known, size_t at, struct record *record, const char **text)
{
  size_t left = known->size - at;

  if (left < sizeof *record)
    return 0;
  memcpy (record, known->bytes + at, sizeof *record);
  *text = known->bytes + at + sizeof *record;
  return record->size <= left - sizeof *record && (record->size == 0 || (*text)[record->size - 1] == 0);
}

/* Ours, and nobody else's to write. */
static int
load (int fd, struct buffer *known)
{
  struct stat st;
  struct head head;
  size_t size;

  if (fstat (fd, &st) || !S_ISREG (st.st_mode) || st.st_uid != geteuid () || st.st_mode & WRITE_BY_OTHERS
      || st.st_size < (off_t) sizeof head || st.st_size > MOST_BYTES || read_exactly (fd, &head, sizeof head))
    return 0;
  size = (size_t) st.st_size - sizeof head;
  return buffer_more (known, size) != NULL && read_exactly (fd, known->bytes, size) == 0 && head.magic == MAGIC
         && head.sum == sum_of (known->bytes, size);
}

void
names_open (struct names *names, const char *file)
{
  struct timespec now;
  int fd = file ? open (file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;

  *names = (struct names) { .file = file };
  if (clock_gettime (CLOCK_REALTIME, &now) == 0)
    names->settled = now.tv_sec - SETTLED_SECONDS;
  if (fd < 0)
    return;
  if (!load (fd, &names->known))
    names->known.size = 0;
  close (fd);
}

/* Those whose directories are known to have a ctime that is the kernel's own and changes with their entries. */
int
names_can_be_kept (int dir)
{
  struct statfs fs;

  if (fstatfs (dir, &fs))
    return 0;
  switch ((uint64_t) fs.f_type)
    {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
      return 1;
    default:
      return 0;
    }
}

static int
is_of (const struct record *record, const struct stat *dir)
{
  return record->dev == dir->st_dev && record->ino == dir->st_ino && record->seconds == (uint64_t) dir->st_ctim.tv_sec
         && record->nanoseconds == (uint64_t) dir->st_ctim.tv_nsec;
}

static void
keep (struct names *names, const struct stat *dir, const char *text, size_t size)
{
  struct record record = { .dev = dir->st_dev,
                           .ino = dir->st_ino,
                           .seconds = (uint64_t) dir->st_ctim.tv_sec,
                           .nanoseconds = (uint64_t) dir->st_ctim.tv_nsec,
                           .size = size };

  if (buffer_add (&names->kept, &record, sizeof record) || buffer_add (&names->kept, text, size))
    names->file = NULL;
}

const char *
names_find (struct names *names, const struct stat *dir, size_t *size)
{
  const size_t begin[2] = { names->next, 0 };
  struct record record;
  const char *text;

  for (int i = 0; i < 2; i++)
    for (size_t at = begin[i]; record_at (&names->known, at, &record, &text);)
      {
        at += sizeof record + record.size;
        if (!is_of (&record, dir))
          continue;
        keep (names, dir, text, record.size);
        names->next = at;
        *size = record.size;
        return text;
      }
  return NULL;
}

void
names_learn (struct names *names, const struct stat *dir, const char *text, size_t size)
{
  if (dir->st_uid != 0 || dir->st_mode & WRITE_BY_OTHERS || dir->st_ctim.tv_sec >= names->settled)
    return;
  keep (names, dir, text, size);
  names->is_new = 1;
}

/* Under another name first: whoever starts meanwhile reads all of the old file or all of the new one. */
static void
save (const struct names *names)
{
  struct head head = { .magic = MAGIC, .sum = sum_of (names->kept.bytes, names->kept.size) };
  char fresh[PATH_MAX];
  int fd, err;

  if (snprintf (fresh, sizeof fresh, "%s.%d", names->file, getpid ()) >= (int) sizeof fresh)
    return;
  fd = open (fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  err = write_all (fd, &head, sizeof head);
  if (err == 0)
    err = write_all (fd, names->kept.bytes, names->kept.size);
  close (fd);
  if (err || rename (fresh, names->file))
    unlink (fresh);
}

void
names_close (struct names *names)
{
  if (names->file != NULL && names->is_new && names->kept.size <= MOST_BYTES - sizeof (struct head))
    save (names);
  free (names->known.bytes);
  free (names->kept.bytes);
}
