#ifndef CORDON_SECRETS_H
#define CORDON_SECRETS_H

#include "plan.h"

#include <stddef.h>

/* Finds what is not for everybody below each TAG_COVER_PRIVATE, in the host's tree, and writes one list an item. The
 * supervisor does it while pid 1 builds the root and the tool confines itself: it would be idle, and /etc is large. 0, or an errno with *item set to
 * what failed. */
int secrets_send (const struct plan *plan, int to, int *item);

/* The list of the next such item: paths with their NULs, in *size bytes. The caller frees it. 0 or an errno. */
int secrets_receive (int from, char **paths, size_t *size);

#endif
