#ifndef CORDON_START_H
#define CORDON_START_H

#include "plan.h"

/* Starts pid 1 of the sandbox, which starts the tool. errors becomes their stderr, unless it is -1. Returns its pid, or
 * -1 when it could not be started, which has been reported then. */
int start (const struct plan *plan, int errors);

#endif
