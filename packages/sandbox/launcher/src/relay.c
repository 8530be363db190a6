#include "relay.h"

#include "bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

int
relay_open (struct relay *relay, int to, int takes_output)
{
  int fds[2];
  if (pipe2 (fds, O_CLOEXEC))
    return -1;
  relay->from = fds[0];
  relay->into = fds[1];
  relay->to = to;
  relay->takes_output = takes_output;
  relay->at = relay->end = 0;
  return 0;
}

/* Nobody there keeps the other end, or the tool would never learn that its reader is gone. */
static int
enter (struct relay *relay)
{
  if (dup2 (relay->into, relay->to) < 0)
    return -1;
  if (relay->takes_output && dup2 (relay->into, STDOUT_FILENO) < 0)
    return -1;
  close (relay->into);
  close (relay->from);
  return 0;
}

int
relays_enter (struct relay *relays)
{
  for (int i = 0; i < RELAYS; i++)
    if (relay_is_open (&relays[i]) && enter (&relays[i]))
      return -1;
  return 0;
}

void
relays_leave_tool (struct relay *relays)
{
  for (int i = 0; i < RELAYS; i++)
    if (relay_is_open (&relays[i]))
      close (relays[i].into);
}

int
relay_is_open (const struct relay *relay)
{
  return relay->from >= 0;
}

int
relays_are_open (const struct relay *relays)
{
  for (int i = 0; relays != NULL && i < RELAYS; i++)
    if (relay_is_open (&relays[i]))
      return 1;
  return 0;
}

struct pollfd
relay_wants (const struct relay *relay)
{
  if (relay->at < relay->end)
    return (struct pollfd) { .fd = relay->to, .events = POLLOUT };
  return (struct pollfd) { .fd = relay->from, .events = POLLIN };
}

static int
is_passing (ssize_t result)
{
  return result > 0 || (result < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Only as much as a pipe with room takes without blocking: a signal must always find us waiting. */
static int
put (struct relay *relay)
{
  size_t left = relay->end - relay->at;
  size_t size = left < PIPE_BUF ? left : PIPE_BUF;
  ssize_t done = write (relay->to, relay->kept + relay->at, size);
  if (done > 0)
    relay->at += (size_t) done;
  if (is_passing (done))
    return 1;
  /* A full disk is no reason to end the tool: it would have lost this much without us, and gone on. */
  relay->at += size;
  return errno != EPIPE && errno != ECONNRESET;
}

static int
get (struct relay *relay)
{
  ssize_t got;
  if (relay->end == sizeof relay->kept)
    {
      memcpy (relay->kept, relay->kept + RELAY_TAIL, RELAY_TAIL);
      relay->at = relay->end = RELAY_TAIL;
    }
  got = read (relay->from, relay->kept + relay->end, sizeof relay->kept - relay->end);
  if (got > 0)
    relay->end += (size_t) got;
  return is_passing (got);
}

void
relay_move (struct relay *relay)
{
  /* The tool is done, or nobody reads it any more: the tool learns that as it would without us. */
  if (!(relay->at < relay->end ? put (relay) : get (relay)))
    relay_close (relay);
}

void
relay_close (struct relay *relay)
{
  close (relay->from);
  relay->from = -1;
}

void
relay_write_tail (const struct relay *relay, int fd)
{
  size_t size = relay->end < RELAY_TAIL ? relay->end : RELAY_TAIL;
  /* A host that is gone misses nothing. */
  write_all (fd, relay->kept + relay->end - size, size);
}
