/* Limits that are the namespaces' own, through their fresh /proc in root. Where a kernel does not have one, it stays away. */
#ifndef CORDON_LIMITS_H
#define CORDON_LIMITS_H

#include <stdint.h>

void limits_of_pids (int root, uint32_t highest);
void limits_of_watching (int root);

#endif
