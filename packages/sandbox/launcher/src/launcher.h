/* The launcher's parts, in the order in which a launch comes to them (main.c shows who runs where). */
#ifndef CORDON_LAUNCHER_H
#define CORDON_LAUNCHER_H

#include "plan.h"
#include "relay.h"
#include "report.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- probe.c: instead of a launch ---- */

/* Prints what this kernel lets this user do, one `name value` a line, on stdout. Parsed by src/probe.ts. */
int probe (void);

/* ---- streams.c: standard input, output and error, which the host hands over open and shares with the tool ---- */

#define STREAMS 3

/* How each stream was set when the tool got it. */
struct streams
{
  int flags[STREAMS];
  struct stat devices[STREAMS]; /* st_mode is 0 for what is none */
};

/* In the supervisor. The flags belong to the open file and not to the process, so what the tool sets stays with whoever
 * else has that file open: the shell, and what it runs next. The same is true of who may open a device: the host's
 * terminal, or its /dev/null. */
void streams_keep (struct streams *streams);
void streams_restore (const struct streams *streams);

/* The mounts that devices were opened anew through; -1 for none. */
struct shields
{
  int mounts[STREAMS];
};

/* In pid 1, while the host's root is still its own: who may open a device that is a stream is not the tool's to change. */
void streams_shield (struct shields *shields);

/* Leaves those mounts to the stage, with which they go. To close one that is attached nowhere would make the kernel wait, for each
 * of them, until no processor can be looking at it (decision 0430). */
void streams_let_go (const struct shields *shields, int stage);

/* In the tool, before it starts: ends the launch when a stream would be a way around the sandbox. */
void streams_refuse (void);

/* ---- start.c: the supervisor's part ---- */

/* Starts pid 1 of the sandbox, which starts the tool; their streams go through what of relays is open. Returns the pid, or
 * -1 when it could not be started, which has been reported then. */
int start (struct plan *plan, struct relay *relays);

/* ---- namespaces.c ---- */

/* All namespaces of SPEC 4.3: pid 1 is started in the first, and makes the others itself. They take longer, and the supervisor
 * has something else to do. */
#define FIRST_NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID)
#define LATER_NAMESPACES (CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP)

/* fork(2) into new namespaces. Returns like fork; in the child the id maps are still to be written. */
int namespaces_fork (unsigned long flags);

/* Written by the parent: only it may map more than itself. 0 or an errno. */
int namespaces_map_ids (int child);

/* A user namespace in which no id of the host's is there: files that are shown through it belong to nobody. -1 for none. It was
 * made by *child, which ends at once and is to be waited for, if it is above 0. */
int namespaces_open_nobody (int *child);

/* ---- secrets.c ---- */

/* Before the fork, as root: for each TAG_COVER_PRIVATE that comes last, its directory once more, in which nothing has an owner
 * or a group. To whoever asks, the kernel answers there with what others may. The item's value is its descriptor, which pid 1
 * inherits; 0 where this kernel, filesystem or user cannot, and then it is looked for. Returns a child that ends at once and is
 * to be waited for, 0 for none: there is better to do than to see it end. */
int secrets_disown (struct plan *plan);

/* Closes those descriptors. */
void secrets_close (const struct plan *plan);

/* Finds what is not for everybody below each TAG_COVER_PRIVATE, in the host's tree, and writes one list an item. The
 * supervisor does it while pid 1 builds the root and the tool confines itself: it would be idle, and /etc is large. Which names
 * directories have it remembers in the file of TAG_NAMES, if there is one.
 * 0, or an errno with *item set to what failed. */
int secrets_send (const struct plan *plan, int to, int *item);

/* In pid 1: the list of the next such item, paths with their NULs, in *size bytes. The caller frees it. 0 or an errno. */
int secrets_receive (int from, char **paths, size_t *size);

/* The same list, of dir below root, without what lies on the device that is ours. */
int secrets_find (int root, dev_t ours, const char *dir, char **paths, size_t *size);

/* ---- root.c: what pid 1 does first ---- */

/* Builds the new root the plan describes and enters it; the old one still lies on top of it.
 * Runs as pid 1 of fresh namespaces. Dies at the item that failed. What is private arrives on secrets. */
void root_enter (const struct plan *plan, int secrets);

/* What need not be done before the tool starts to confine itself, but must be before it is executed: covers what is
 * private, and takes the old root away. */
void root_finish (const struct plan *plan);

/* ---- limits.c: the namespaces' own, through their fresh /proc in root. One that a kernel does not have stays away. ---- */

void limits_of_pids (int root, uint32_t highest);
void limits_of_watching (int root);

/* ---- network.c ---- */

/* Switches the sandbox's own loopback on, makes the sockets that the host will serve inside this network namespace, and gives
 * them to the host (SPEC 4.5). */
void network_enter (const struct plan *plan);

/* ---- left.c: when the tool has ended ---- */

/* Kills whoever is left, copies files out, and reports what lies in the private home. */
void left_report (const struct plan *plan);

/* Makes a file in a directory of ours, with what its descriptor holds. 0 or an errno. */
int replaced_copy_in (int dir, const char *name, const struct item *item);

/* ---- init.c ---- */

/* Pid 1 of the sandbox: starts the tool, reaps, forwards signals, reports how it ended. When it exits the
 * kernel kills whatever is left. Its exit code is the signal that the tool died of, or 0. Never returns. */
_Noreturn void init_run (const struct plan *plan);

/* ---- confine.c, landlock.c, seccomp.c: the tool's process ---- */

/* Gives up everything and becomes argv (SPEC 4.3), when the gate says that pid 1 has finished the root. */
_Noreturn void confine_and_exec (const struct plan *plan, int gate);

/* Takes from this process and its children every right that the running kernel's Landlock knows and the
 * plan does not give (SPEC 4.3). Needs no_new_privs. */
void landlock_apply (const struct plan *plan);

/* In pid 1 without namespaces: from now on no signal of ours, or of what we start, reaches anybody whom we did not start:
 * kill(-1) is for those only. Returns whether it is so. */
int landlock_keep_signals (void);

/* Refuses the system calls of SPEC 4.3 to this process and its children. Needs no_new_privs. */
void seccomp_apply (const struct plan *plan);

/* ---- wait.c: the supervisor and pid 1 ---- */

/* Blocks the signals that wait_for handles; before the first fork, so that none is lost. */
void signals_block (void);

/* Waits until child has ended and what it wrote is passed on, if there are relays. Passes on what signals somebody sends
 * meanwhile; what the terminal sends reaches the tool by itself, or by the host. plan: in the supervisor;
 * NULL in pid 1, which the supervisor tells. Returns the child's wait status. */
int wait_for (int child, struct relay *relays, const struct plan *plan);

#endif
