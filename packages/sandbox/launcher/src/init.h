#ifndef CORDON_INIT_H
#define CORDON_INIT_H

#include "plan.h"

/* Pid 1 of the sandbox: starts the tool, reaps, forwards signals, reports how it ended. When it exits the
 * kernel kills whatever is left. Never returns. */
_Noreturn void init_run (const struct plan *plan);

#endif
