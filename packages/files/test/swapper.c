/* The attacker of the race test: exchanges each pair of names, atomically and as fast as the kernel can,
 * until its standard input is closed. Prints how often. usage: swapper A B [C D ...] */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXCHANGE 2 /* RENAME_EXCHANGE, which old headers lack */

int
main (int argc, char **argv)
{
  struct pollfd in = { .fd = 0, .events = POLLIN };
  long swaps = 0;
  if (write (1, "ready\n", 6) != 6)
    return 1;
  for (;; swaps++)
    {
      for (int i = 1; i + 1 < argc; i += 2)
        /* Fails while the other pair hides it; that is part of the game. */
        (void) syscall (SYS_renameat2, AT_FDCWD, argv[i], AT_FDCWD, argv[i + 1], EXCHANGE);
      if (swaps % 64 == 0 && poll (&in, 1, 0) > 0)
        break;
    }
  printf ("%ld\n", swaps);
  return 0;
}
