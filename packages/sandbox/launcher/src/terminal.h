/* Job control across the pid namespace. A process group that was made outside has no number inside: a shell there would ask
 * for its own group, get 0, and could not give the terminal back. So where a person sits at the terminal, the tool gets a
 * group of its own and the terminal with it; when it stops we stop too, and when we are continued it is (docs/decisions/0043).
 *
 *   Ctrl-Z ──▶ the tool's group stops ──▶ pid 1 sees it, tells the supervisor ──▶ which stops its own group
 *   fg ──▶ the supervisor goes on, tells pid 1 ──▶ which gives the terminal to the tool's group, and continues it */
#ifndef CORDON_TERMINAL_H
#define CORDON_TERMINAL_H

/* In the supervisor, before pid 1 is started: whether the terminal can be lent. All three streams are one, so nobody beside
 * us in a pipeline reads it, and it is ours to lend: our group is in front. */
int terminal_lend (void);

/* In the tool's process: its own group, in front. */
void terminal_take (void);

/* In pid 1, before it starts the tool: keeps the terminal, and leaves the supervisor's group. */
void terminal_keep (void);

/* In pid 1: whether the terminal was kept. */
int terminal_is_kept (void);

/* In pid 1: the tool has stopped. */
void terminal_report_stop (void);

/* In pid 1: puts the tool's group in front again, or leaves it in the background, and continues it. */
enum place
{
  IN_FRONT,
  IN_BACKGROUND
};
void terminal_continue (int tool, enum place place);

/* In the supervisor: the descriptor that says that the tool has stopped, or -1. */
int terminal_stops (void);

/* In the supervisor: stops with the tool. Returns when we are continued, with where the tool belongs. */
enum place terminal_stop (void);

/* In the supervisor: after `bg` a shell that says `fg` gives us the terminal without a signal, so it has to be looked at.
 * Whether the tool goes on behind it, and whether the terminal has come back since. */
int terminal_is_behind (void);
int terminal_came_back (void);

/* In the supervisor, at the end: the terminal is our group's again, unless we are in the background. A signal that the tool
 * died of was typed for all of our group, and is passed on to the others; 0 for none. */
void terminal_return (int sig);

#endif
