#ifndef CORDON_SECCOMP_H
#define CORDON_SECCOMP_H

#include "plan.h"

/* Refuses the system calls of SPEC 4.3 to this process and its children. Needs no_new_privs. */
void seccomp_apply (const struct plan *plan);

#endif
