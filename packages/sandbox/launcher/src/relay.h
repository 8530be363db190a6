/* Passes the tool's stderr on, no faster than it is taken, and keeps the end of it: the host looks there for what went
 * wrong (SPEC 4.7). Its stdout, too: with it where both go to the same place, or by a relay of its own. */
#ifndef CORDON_RELAY_H
#define CORDON_RELAY_H

#include <poll.h>
#include <stddef.h>

#define RELAY_TAIL (64u << 10)

struct relay
{
  int from;   /* what the tool writes comes out here; -1 when it is done */
  int into;   /* the tool's end */
  int to;     /* ours, and the tool's by the same number */
  int takes_output; /* the tool's stdout is this one as well */
  size_t at;  /* what of kept has been passed on */
  size_t end; /* what of kept is there */
  char kept[2 * RELAY_TAIL];
};

/* Of stderr, and of stdout where that goes elsewhere and is wanted; each may be closed. */
#define RELAYS 2

/* 0 or -1. */
int relay_open (struct relay *relay, int to, int takes_output);

/* In every process that the tool comes from: what is to be taken of its streams is now ours. 0 or -1 with errno. */
int relays_enter (struct relay *relays);

/* In the process that relays, when the tool's has been started. */
void relays_leave_tool (struct relay *relays);

/* One that was never opened is not. */
int relay_is_open (const struct relay *relay);

/* Whether any is. There may be none at all (NULL). */
int relays_are_open (const struct relay *relays);

/* What to wait for: that there is something to read, or room to write what was read. */
struct pollfd relay_wants (const struct relay *relay);

/* To be called when that has come. */
void relay_move (struct relay *relay);

void relay_close (struct relay *relay);

/* Writes the last RELAY_TAIL bytes that came through. */
void relay_write_tail (const struct relay *relay, int fd);

#endif
