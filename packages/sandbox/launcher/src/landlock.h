#ifndef CORDON_LANDLOCK_H
#define CORDON_LANDLOCK_H

#include "plan.h"

/* Takes from this process and its children every right that the running kernel's Landlock knows and the
 * plan does not give (SPEC 4.3). Needs no_new_privs. */
void landlock_apply (const struct plan *plan);

#endif
