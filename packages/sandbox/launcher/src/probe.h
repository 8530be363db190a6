#ifndef CORDON_PROBE_H
#define CORDON_PROBE_H

/* Prints what this kernel lets this user do, one `name value` a line, on stdout. Parsed by src/probe.ts. */
int probe (void);

#endif
