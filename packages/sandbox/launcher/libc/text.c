/* Numbers as text and back, and the environment: as far as the launcher goes. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text
{
  char *to;
  size_t room;
  size_t size; /* what it would be, with room enough */
};

static void
put (struct text *text, const char *bytes, size_t size)
{
  for (size_t i = 0; i < size; i++, text->size++)
    if (text->size < text->room)
      text->to[text->size] = bytes[i];
}

static void
put_number (struct text *text, unsigned long long value, int negative)
{
  char digits[24];
  size_t at = sizeof digits;

  do
    digits[--at] = (char) ('0' + value % 10);
  while ((value /= 10) > 0);
  if (negative)
    digits[--at] = '-';
  put (text, digits + at, sizeof digits - at);
}

static void
put_signed (struct text *text, long long value)
{
  put_number (text, value < 0 ? 0 - (unsigned long long) value : (unsigned long long) value, value < 0);
}

/* What a format may hold: %s %d %u %ld %llu. Anything else is a mistake of ours, and ends us. */
static void
put_argument (struct text *text, const char **format, va_list *args)
{
  const char *string;

  if (strncmp (*format, "llu", 3) == 0)
    {
      *format += 3;
      return put_number (text, va_arg (*args, unsigned long long), 0);
    }
  if (strncmp (*format, "ld", 2) == 0)
    {
      *format += 2;
      return put_signed (text, va_arg (*args, long));
    }
  switch (*(*format)++)
    {
    case 's':
      string = va_arg (*args, const char *);
      return put (text, string, strlen (string));
    case 'd':
      return put_signed (text, va_arg (*args, int));
    case 'u':
      return put_number (text, va_arg (*args, unsigned), 0);
    default:
      __builtin_trap ();
    }
}

static int
format (char *to, size_t room, const char *format, va_list *args)
{
  struct text text = { .to = to, .room = room };

  while (*format)
    if (*format != '%')
      put (&text, format++, 1);
    else
      {
        format++;
        put_argument (&text, &format, args);
      }
  if (room > 0)
    to[text.size < room ? text.size : room - 1] = 0;
  return (int) text.size;
}

int
snprintf (char *restrict to, size_t room, const char *restrict text, ...)
{
  va_list args;
  int size;

  va_start (args, text);
  size = format (to, room, text, &args);
  va_end (args);
  return size;
}

/* One write, so that what several processes report stays line by line. */
int
dprintf (int fd, const char *restrict text, ...)
{
  char line[512];
  va_list args;
  int size;

  va_start (args, text);
  size = format (line, sizeof line, text, &args);
  va_end (args);
  if ((size_t) size >= sizeof line)
    return errno = EOVERFLOW, -1;
  return (int) write (fd, line, (size_t) size);
}

/* In tens only; what does not fit becomes the largest there is. */
long
strtol (const char *restrict text, char **restrict end, int base)
{
  const char *at = text;
  long value = 0;
  int negative;

  if (base != 10)
    __builtin_trap ();
  while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
    at++;
  negative = *at == '-';
  if (*at == '-' || *at == '+')
    at++;
  if (*at < '0' || *at > '9')
    at = text;
  for (; *at >= '0' && *at <= '9'; at++)
    if (__builtin_mul_overflow (value, 10, &value)
        || __builtin_add_overflow (value, negative ? '0' - *at : *at - '0', &value))
      value = negative ? LONG_MIN : LONG_MAX;
  if (end)
    *end = (char *) at;
  return value;
}

int
atoi (const char *text)
{
  return (int) strtol (text, NULL, 10);
}

/* The variable's place in the environment, or the place where it ends. */
static char **
find (const char *name)
{
  size_t size = strlen (name);
  char **at = environ;
  while (*at && (strncmp (*at, name, size) != 0 || (*at)[size] != '='))
    at++;
  return at;
}

char *
getenv (const char *name)
{
  char **at = find (name);
  return *at ? *at + strlen (name) + 1 : NULL;
}

int
unsetenv (const char *name)
{
  char **at;
  while (*(at = find (name)))
    for (; *at; at++)
      at[0] = at[1];
  return 0;
}

int
setenv (const char *name, const char *value, int overwrite)
{
  size_t count = 0, left = strlen (name), right = strlen (value);
  char **all, *text;

  if (*find (name) && !overwrite)
    return 0;
  unsetenv (name);
  while (environ[count])
    count++;
  all = malloc ((count + 2) * sizeof *all);
  text = malloc (left + right + 2);
  if (all == NULL || text == NULL)
    return errno = ENOMEM, -1;
  memcpy (text, name, left);
  text[left] = '=';
  memcpy (text + left + 1, value, right + 1);
  memcpy (all, environ, count * sizeof *all);
  all[count] = text;
  all[count + 1] = NULL;
  environ = all;
  return 0;
}
