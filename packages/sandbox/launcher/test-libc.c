/* Compares libc/text.c and libc/memory.c, whose functions the tests rename to ours_*, with those of the real libc, on
 * random input. Built with sanitizers by the tests; never installed. Prints the first difference. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char **ours_environ;
void *ours_memcpy (void *, const void *, size_t);
void *ours_memset (void *, int, size_t);
void *ours_memchr (const void *, int, size_t);
void ours_explicit_bzero (void *, size_t);
size_t ours_strlen (const char *);
int ours_strcmp (const char *, const char *);
int ours_strncmp (const char *, const char *, size_t);
char *ours_strcpy (char *, const char *);
char *ours_strchr (const char *, int);
char *ours_strrchr (const char *, int);
char *ours_strstr (const char *, const char *);
void *ours_malloc (size_t);
void *ours_calloc (size_t, size_t);
void *ours_realloc (void *, size_t);
void ours_free (void *);
void ours_qsort (void *, size_t, size_t, int (*) (const void *, const void *));
int ours_snprintf (char *, size_t, const char *, ...);
long ours_strtol (const char *, char **, int);
int ours_atoi (const char *);
char *ours_getenv (const char *);
int ours_setenv (const char *, const char *, int);
int ours_unsetenv (const char *);

static unsigned round_number;

#define SAME(what)                                   \
  do                                                 \
    if (!(what))                                     \
      {                                              \
        printf ("round %u: %s\n", round_number, #what); \
        exit (1);                                    \
      }                                              \
  while (0)

static int
sign (int value)
{
  return (value > 0) - (value < 0);
}

/* Few different characters, so that parts are found and texts are equal. */
static char *
text (char *out, size_t most)
{
  size_t size = (size_t) rand () % most;
  for (size_t i = 0; i < size; i++)
    out[i] = "aab-\xff"[rand () % 5];
  out[size] = 0;
  return out;
}

static void
test_strings (void)
{
  char a[40], b[8], one[64], two[64];
  int c = "ab-\xffz"[rand () % 6];
  size_t n = (size_t) rand () % 12;

  text (a, sizeof a);
  text (b, rand () % 2 ? 3 : sizeof b);
  SAME (ours_strlen (a) == strlen (a));
  SAME (sign (ours_strcmp (a, b)) == sign (strcmp (a, b)));
  SAME (sign (ours_strncmp (a, b, n)) == sign (strncmp (a, b, n)));
  SAME (ours_strchr (a, c) == strchr (a, c));
  SAME (ours_strrchr (a, c) == strrchr (a, c));
  SAME (ours_strstr (a, b) == strstr (a, b));
  SAME (ours_memchr (a, c, strlen (a)) == memchr (a, c, strlen (a)));
  memset (one, 7, sizeof one);
  memset (two, 7, sizeof two);
  SAME (ours_strcpy (one + 1, a) == one + 1 && strcpy (two + 1, a) && memcmp (one, two, sizeof one) == 0);
  SAME (ours_memset (one + n, c, n) == one + n && memset (two + n, c, n) && memcmp (one, two, sizeof one) == 0);
  SAME (ours_memcpy (one + n, a, n) == one + n && memcpy (two + n, a, n) && memcmp (one, two, sizeof one) == 0);
  ours_explicit_bzero (one + n, n);
  SAME (memset (two + n, 0, n) && memcmp (one, two, sizeof one) == 0);
}

static long long
number (void)
{
  static const long long ends[] = { 0, 1, -1, INT_MAX, INT_MIN, UINT_MAX, LONG_MAX, LONG_MIN };
  uint64_t random = ((uint64_t) rand () << 40) ^ ((uint64_t) rand () << 20) ^ (uint64_t) rand ();
  return rand () % 3 == 0 ? ends[rand () % 8] : (long long) random >> rand () % 63;
}

static void
test_formats (void)
{
  char one[80], two[80], part[12];
  size_t room = (size_t) rand () % sizeof one;
  long long n = number ();

#define FORMAT(...) \
  SAME (ours_snprintf (one, room, __VA_ARGS__) == snprintf (two, room, __VA_ARGS__) && strcmp (one, two) == 0)
  strcpy (one, "untouched");
  strcpy (two, "untouched");
  text (part, sizeof part);
  FORMAT ("/proc/%d/%s", (int) n, part);
  FORMAT ("%u %u 1", (unsigned) n, (unsigned) (n >> 7));
  FORMAT ("usage peak_kib=%ld full=%d\n", (long) n, (int) n);
  FORMAT ("size=%llu,%s%s", (unsigned long long) n, part, part);
}

static void
test_numbers (void)
{
  char digits[64], *one, *two;
  static const char *const before[] = { "", " ", "\t\n+", "-", "- ", "+-", "x" };
  static const char *const after[] = { "", " ", "9", "a", "99999999999999999999", "\n" };
  long value;

  snprintf (digits, sizeof digits, "%s%lld%s", before[rand () % 7], number (), after[rand () % 6]);
  value = strtol (digits, &two, 10);
  SAME (ours_strtol (digits, &one, 10) == value);
  SAME (one == two);
  SAME (ours_atoi (digits) == (int) value);
}

static int
by_first (const void *a, const void *b)
{
  return *(const unsigned char *) a - *(const unsigned char *) b;
}

/* The real one may swap equals; what we sort has none. */
static void
test_sort (void)
{
  struct { unsigned char key, more[7]; } one[40], two[40];
  size_t count = (size_t) rand () % 40;

  for (size_t i = 0; i < count; i++)
    {
      one[i].key = (unsigned char) (i * 77);
      memset (one[i].more, (int) i, sizeof one[i].more);
    }
  for (size_t i = count; i > 1; i--)
    {
      size_t j = (size_t) rand () % i;
      two[0] = one[j], one[j] = one[i - 1], one[i - 1] = two[0];
    }
  memcpy (two, one, sizeof one[0] * count);
  ours_qsort (one, count, sizeof one[0], by_first);
  qsort (two, count, sizeof two[0], by_first);
  SAME (memcmp (one, two, sizeof one[0] * count) == 0);
}

static void
test_memory (void)
{
  size_t size = (size_t) rand () % 9000, more = (size_t) rand () % 20000;
  unsigned char *bytes = ours_malloc (size), *zeros = ours_calloc (size, 3);

  SAME (bytes && zeros && (uintptr_t) bytes % 16 == 0);
  for (size_t i = 0; i < size; i++)
    bytes[i] = (unsigned char) i;
  for (size_t i = 0; i < 3 * size; i++)
    SAME (zeros[i] == 0);
  bytes = ours_realloc (bytes, more);
  SAME (bytes != NULL);
  for (size_t i = 0; i < size && i < more; i++)
    SAME (bytes[i] == (unsigned char) i);
  ours_free (bytes);
  ours_free (zeros);
  ours_free (NULL);
  SAME (ours_malloc (SIZE_MAX) == NULL && ours_malloc (SIZE_MAX - 8) == NULL);
  SAME (ours_calloc (SIZE_MAX / 2 + 1, 2) == NULL); /* their product is 0 */
}

/* Two environments that start alike and get the same. */
static void
test_environment (void)
{
  char name[8], value[12];
  int overwrite = rand () % 2;

  do
    text (name, sizeof name);
  while (name[0] == 0);
  text (value, sizeof value);
  if (rand () % 3)
    SAME (ours_setenv (name, value, overwrite) == setenv (name, value, overwrite));
  else
    SAME (ours_unsetenv (name) == unsetenv (name));
  SAME (!ours_getenv (name) == !getenv (name));
  SAME (!getenv (name) || strcmp (ours_getenv (name), getenv (name)) == 0);
}

int
main (int argc, char **argv)
{
  static char *none[] = { NULL };

  srand (argc > 1 ? (unsigned) atoi (argv[1]) : 0);
  clearenv ();
  ours_environ = none;
  for (round_number = 0; round_number < 20000; round_number++)
    {
      test_strings ();
      test_formats ();
      test_numbers ();
      test_sort ();
      test_environment ();
      if (round_number % 20 == 0)
        test_memory ();
    }
  printf ("%u rounds\n", round_number);
  return 0;
}
