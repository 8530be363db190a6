#ifndef CORDON_LANDLOCK_H
#define CORDON_LANDLOCK_H

#include "plan.h"

/* Takes from this process and its children every right that the running kernel's Landlock knows and the
 * plan does not give (SPEC 4.3). Needs no_new_privs. */
void landlock_apply (const struct plan *plan);

/* From now on no signal of ours, or of what we start, reaches anybody whom we did not start: kill(-1) is for those only.
 * Returns whether it is so. */
int landlock_keep_signals (void);

#endif
