#ifndef CORDON_WAIT_H
#define CORDON_WAIT_H

#include "relay.h"

/* Blocks the signals that wait_for handles; before the first fork, so that none is lost. */
void signals_block (void);

/* As they were before signals_block. */
void signals_unblock (void);

enum signals
{
  SIGNALS_SENT, /* what somebody sent us: what the terminal sends reaches the tool by itself */
  SIGNALS_ALL,  /* also what the terminal sends: the tool is in a session of its own */
};

/* Waits until child has ended and its errors are passed on, if there is a relay. Passes signals on meanwhile. Returns
 * the child's wait status. */
int wait_for (int child, enum signals passed, struct relay *relay);

#endif
