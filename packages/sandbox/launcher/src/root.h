#ifndef CORDON_ROOT_H
#define CORDON_ROOT_H

#include "plan.h"

/* Builds the new root the plan describes and enters it; the old one is gone afterwards.
 * Runs as pid 1 of fresh namespaces. Dies at the item that failed. What is private arrives on secrets (secrets.h). */
void root_enter (const struct plan *plan, int secrets);

#endif
