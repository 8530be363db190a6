/* Feeds its standard input to the plan parser. Built with sanitizers by the tests; never installed. */
#include "src/plan.h"

#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  unsigned char *bytes;
  size_t size;
  struct plan plan = { 0 };
  unsigned long sum = 0;
  int item, err;

  /* Plans one after the other, each with its length, until the input ends. */
  while (plan_read (0, &bytes, &size) == 0)
    {
      err = plan_parse (bytes, size, &plan, &item);
      /* Every string that was accepted is read to its end. */
      for (uint32_t i = 0; err == 0 && i < plan.count; i++)
        for (const char *at = plan.items[i].path; *at; at++)
          sum += (unsigned char) *at;
      printf ("%d %d %u\n", err, item, err ? 0 : plan.count);
      free (plan.items);
      free (bytes);
    }
  return sum == (unsigned long) -1;
}
