#ifndef CORDON_LISTEN_H
#define CORDON_LISTEN_H

#include "plan.h"

/* Makes the socket that the host's proxy will serve, inside the sandbox's network namespace, and gives it
 * to the host (SPEC 4.5). Does nothing when the plan asks for none. */
void listen_and_hand_over (const struct plan *plan);

#endif
