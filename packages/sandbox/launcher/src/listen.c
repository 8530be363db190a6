#include "listen.h"

#include "report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A new network namespace has a loopback device, switched off. */
static int
raise_loopback (int fd)
{
  struct ifreq request = { .ifr_name = "lo" };
  if (ioctl (fd, SIOCGIFFLAGS, &request))
    return errno;
  request.ifr_flags |= IFF_UP;
  return ioctl (fd, SIOCSIFFLAGS, &request) ? errno : 0;
}

static int
listen_on (uint32_t port, int *out)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons ((uint16_t) port) };
  int err, fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0)
    return errno;
  address.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  err = raise_loopback (fd);
  if (err == 0 && (bind (fd, (struct sockaddr *) &address, sizeof address) || listen (fd, SOMAXCONN)))
    err = errno;
  *out = fd;
  return err;
}

/* The message by which Node's child_process receives a net.Server: one line of JSON and the descriptor. */
static int
hand_over (int fd)
{
  static const char text[] = "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":\"proxy\"}\n";
  struct iovec line = { .iov_base = (void *) text, .iov_len = sizeof text - 1 };
  union
  {
    struct cmsghdr header;
    char room[CMSG_SPACE (sizeof (int))];
  } control = { 0 };
  struct msghdr message = {
    .msg_iov = &line,
    .msg_iovlen = 1,
    .msg_control = &control,
    .msg_controllen = sizeof control.room,
  };

  control.header = (struct cmsghdr) {
    .cmsg_len = CMSG_LEN (sizeof (int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS
  };
  memcpy (CMSG_DATA (&control.header), &fd, sizeof fd);
  return sendmsg (HANDLE_FD, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

void
listen_and_hand_over (const struct plan *plan)
{
  int index, fd = -1, err;
  const struct item *item = plan_find (plan, TAG_LISTEN, &index);

  if (item == NULL)
    return;
  err = listen_on (item->arg, &fd);
  if (err)
    die_at (STEP_LISTEN, index, err);
  err = hand_over (fd);
  if (err)
    die_at (STEP_HAND_OVER, index, err);
  close (fd);
  close (HANDLE_FD);
}
