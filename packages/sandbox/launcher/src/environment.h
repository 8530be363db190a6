/* What a host that became us by exec could leave us: descriptors of Node's close, so the plan comes as text. */
#ifndef CORDON_ENVIRONMENT_H
#define CORDON_ENVIRONMENT_H

#include <stddef.h>

/* Tells the host that comes after us that it does; src/take-over.ts. */
#define ENDED_VARIABLE "CORDON_ENDED"

/* To be called first: where the kernel put the arguments and the environment. */
void environment_find (char **argv);

/* Takes CORDON_PLAN, in base64 without padding, out of the environment. 0 or an errno. */
int environment_take_plan (unsigned char **bytes, size_t *size);

/* In a process that the tool can see: nothing of the host's arguments and environment stays in its memory. It is listed
 * under this name from then on. */
void environment_wipe (const char *name);

#endif
