#ifndef CORDON_CONFINE_H
#define CORDON_CONFINE_H

#include "plan.h"

/* From here on it is the tool's process: gives up everything and becomes argv (SPEC 4.3). */
_Noreturn void confine_and_exec (const struct plan *plan, int gate);

#endif
