#ifndef CORDON_START_H
#define CORDON_START_H

#include "plan.h"
#include "relay.h"

/* Starts pid 1 of the sandbox, which starts the tool; their stderr goes through relay if that is open. Returns the pid, or
 * -1 when it could not be started, which has been reported then. */
int start (struct plan *plan, struct relay *relay);

#endif
