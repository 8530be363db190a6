/* Does what it is told to the files of its current directory, one order a line on standard input, and goes on after
 * every refusal: `verb<TAB>path<TAB>text-or-second-path`. A whole sequence costs one process. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
put (const char *path, const char *text, int flags)
{
  int fd = open (path, O_WRONLY | O_CREAT | flags, 0644);
  if (fd < 0)
    return;
  for (const char *c = text; *c; c++) /* a line of an order has no line breaks: `|` stands for one */
    if (write (fd, *c == '|' ? "\n" : c, 1) != 1)
      break;
  close (fd);
}

static void
obey (const char *verb, const char *path, const char *other)
{
  if (!strcmp (verb, "write"))
    put (path, other, O_TRUNC);
  else if (!strcmp (verb, "append"))
    put (path, other, O_APPEND);
  else if (!strcmp (verb, "mkdir"))
    (void) mkdir (path, 0755);
  else if (!strcmp (verb, "rename"))
    (void) rename (path, other);
  else if (!strcmp (verb, "link"))
    (void) !link (path, other);
  else if (!strcmp (verb, "symlink"))
    (void) !symlink (other, path);
  else if (!strcmp (verb, "unlink"))
    (void) unlink (path);
  else if (!strcmp (verb, "rmdir"))
    (void) rmdir (path);
  else if (!strcmp (verb, "chmod"))
    (void) chmod (path, (mode_t) strtol (other, NULL, 8));
  else
    abort ();
}

int
main (void)
{
  static char line[65536];
  while (fgets (line, sizeof line, stdin))
    {
      line[strcspn (line, "\n")] = 0;
      char *path = strchr (line, '\t');
      char *other = path ? strchr (path + 1, '\t') : NULL;
      if (!other)
        abort ();
      *path++ = 0;
      *other++ = 0;
      obey (line, path, other);
    }
  return 0;
}
