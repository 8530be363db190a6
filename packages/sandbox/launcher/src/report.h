/* What the launcher tells the host, one line a fact, on STATUS_FD. Parsed by src/status.ts. Of a tool that simply
 * succeeded there are two: who is inside, and its end. After an empty line follows the end of the tool's errors, if they were kept. */
#ifndef CORDON_REPORT_H
#define CORDON_REPORT_H

#include "relay.h"

#include <signal.h>
#include <stdio.h>

/* The file or socket that the host gave us: the plan comes in on it, and the status lines go out. */
#define STATUS_FD 3
/* Node's IPC channel; there only when the plan wants a listening socket handed over (SPEC 4.5). */
#define HANDLE_FD 4
/* As env(1) and docker do for "the wrapper itself failed". */
#define EXIT_LAUNCHER 125
/* From the host: kill everything inside, and end when it has ended. A SIGKILL of the supervisor would also end it
 * all, but the host could not know when. One that nobody sends to us otherwise, and whose default is to die. */
#define SIGNAL_KILL_ALL SIGXCPU
/* From the supervisor to pid 1: the tool belongs in front (terminal.h). */
#define SIGNAL_IN_FRONT SIGXFSZ
/* For what belongs to no item of the plan. */
#define NO_ITEM (-1)

/* Every step that can fail, in the order of SPEC 4.3. */
enum step
{
  STEP_PLAN,
  STEP_NAMESPACES,
  STEP_ID_MAP,
  STEP_STAGE,
  STEP_DIR,
  STEP_FILE,
  STEP_LINK,
  STEP_CONTENT,
  STEP_PRIVATE,
  STEP_BIND,
  STEP_PIN_LINK,
  STEP_COVER,
  STEP_SECRETS,
  STEP_SEAL,
  STEP_PROC,
  STEP_DEVPTS,
  STEP_PIVOT,
  STEP_LOOPBACK,
  STEP_LISTEN,
  STEP_HAND_OVER,
  STEP_FORK,
  STEP_CWD,
  STEP_NO_NEW_PRIVS,
  STEP_CAPABILITIES,
  STEP_CLOSE_FDS,
  STEP_SESSION,
  STEP_LANDLOCK,
  STEP_LANDLOCK_RULE,
  STEP_LIMIT,
  STEP_SECCOMP,
  STEP_EXEC,
  STEP_COUNT
};

extern const char *const step_name[STEP_COUNT];

void report_failed (enum step step, int item, int err);

/* For every process but the supervisor, which has something to do afterwards. */
_Noreturn void die_at (enum step step, int item, int err);

/* Which process is pid 1 of the sandbox: if the supervisor is killed, the host waits for its end, and with that everybody's. */
void report_inside (int pid);

/* How a process ended, from its wait status. */
void report_exit (int status);

/* The end of what the tool wrote, last of all: to stdout, then to stderr. Nothing of what did not pass through us. */
void report_said (const struct relay *relays);

#endif
