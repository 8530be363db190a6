#ifndef CORDON_ROOT_H
#define CORDON_ROOT_H

#include "plan.h"

/* Builds the new root the plan describes and enters it; the old one still lies on top of it.
 * Runs as pid 1 of fresh namespaces. Dies at the item that failed. What is private arrives on secrets (secrets.h). */
void root_enter (const struct plan *plan, int secrets);

/* What need not be done before the tool starts to confine itself, but must be before it is executed: covers what is
 * private, and takes the old root away. */
void root_finish (const struct plan *plan);

#endif
