/* The launcher in the place of the host (docs/decisions/0094): Node has become us by exec, nobody waits for a report,
 * and Node is started again only when there is something to explain. */
#ifndef CORDON_STANDIN_H
#define CORDON_STANDIN_H

/* The plan is in the environment, and argv is how the host is started again. Never returns. */
_Noreturn void stand_in (char **argv);

#endif
