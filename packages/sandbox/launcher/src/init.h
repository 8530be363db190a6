#ifndef CORDON_INIT_H
#define CORDON_INIT_H

#include "plan.h"

/* Pid 1 of the sandbox: starts the tool, reaps, forwards signals, reports how it ended. When it exits the
 * kernel kills whatever is left. Never returns. */
_Noreturn void init_run (const struct plan *plan, char **argv);

/* Blocks the signals that wait_for handles; before the first fork, so that none is lost. */
void signals_block (void);

/* Waits until child has ended, passing on signals that somebody sent us. Returns its wait status. */
int wait_for (int child);

#endif
