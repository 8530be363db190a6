/* The sandbox's own network: a loopback, and on it the sockets that the host serves (SPEC 4.5). No relay process, no port on the
 * host: each socket is made here, inside the namespace, and its descriptor is given to the host. */
#include "launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel numbers devices from here on, and a new namespace has this one only. */
#define LOOPBACK_INDEX 1

/* TAG_LISTEN: value. */
#define OVER_UDP 1

struct address
{
  socklen_t size;
  union
  {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  };
};

static int
read_address (const struct item *item, struct address *out)
{
  memset (out, 0, sizeof *out);
  if (inet_pton (AF_INET, item->path, &out->v4.sin_addr) == 1)
    {
      out->v4.sin_family = AF_INET;
      out->v4.sin_port = htons ((uint16_t) item->arg);
      out->size = sizeof out->v4;
    }
  else if (inet_pton (AF_INET6, item->path, &out->v6.sin6_addr) == 1)
    {
      out->v6.sin6_family = AF_INET6;
      out->v6.sin6_port = htons ((uint16_t) item->arg);
      out->size = sizeof out->v6;
    }
  else
    return EINVAL;
  return 0;
}

/* A new network namespace has one device, the loopback, and it is switched off. The kernel gives it 127.0.0.1 and ::1
 * (decision 0210). */
static int
raise_loopback (void)
{
  struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
  int err = 0, fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  if (fd < 0)
    return errno;
  if (ioctl (fd, SIOCSIFFLAGS, &request))
    err = errno;
  close (fd);
  return err;
}

/* Under a name of its own (lo:7), or it would replace the one before. Alone: the kernel's first guess is a whole network. */
static int
add_v4 (int fd, const struct sockaddr_in *address, int index)
{
  struct ifreq request = { 0 };
  struct sockaddr_in *value = (struct sockaddr_in *) &request.ifr_addr;

  snprintf (request.ifr_name, sizeof request.ifr_name, "lo:%d", index);
  *value = (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr = address->sin_addr };
  if (ioctl (fd, SIOCSIFADDR, &request))
    return errno;
  value->sin_addr.s_addr = INADDR_NONE;
  return ioctl (fd, SIOCSIFNETMASK, &request) ? errno : 0;
}

static int
add_v6 (int fd, const struct sockaddr_in6 *address)
{
  struct in6_ifreq request
    = { .ifr6_addr = address->sin6_addr, .ifr6_prefixlen = 128, .ifr6_ifindex = LOOPBACK_INDEX };
  static const int on = 1;

  if (ioctl (fd, SIOCSIFADDR, &request) && errno != EEXIST)
    return errno;
  /* It is not there before the kernel has looked for others that have it; nobody else can. */
  return setsockopt (fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof on) ? errno : 0;
}

/* An address that a rule names becomes one of the sandbox's own. All of 127.0.0.0/8 and ::1 are there already. */
static int
bind_to (int fd, const struct address *address, int index)
{
  int err = 0;

  if (bind (fd, &address->any, address->size) == 0)
    return 0;
  if (errno != EADDRNOTAVAIL)
    return errno;
  err = address->any.sa_family == AF_INET ? add_v4 (fd, &address->v4, index) : add_v6 (fd, &address->v6);
  if (err == 0 && bind (fd, &address->any, address->size))
    err = errno;
  return err;
}

static int
listen_on (const struct item *item, int index, int *out)
{
  static const int on = 1;
  int udp = item->value == OVER_UDP, err;
  struct address address;

  *out = -1;
  err = read_address (item, &address);
  if (err)
    return err;
  *out = socket (address.any.sa_family, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
  if (*out < 0)
    return errno;
  if (address.any.sa_family == AF_INET6 && setsockopt (*out, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on))
    return errno;
  err = bind_to (*out, &address, index);
  if (err == 0 && !udp && listen (*out, SOMAXCONN))
    err = errno;
  return err;
}

/* The host may have been started with a channel that does not wait. */
static int
send_all (const struct msghdr *message)
{
  while (sendmsg (HANDLE_FD, message, MSG_NOSIGNAL) < 0)
    {
      struct pollfd room = { .fd = HANDLE_FD, .events = POLLOUT };
      if (errno == EINTR)
        continue;
      if (errno != EAGAIN || poll (&room, 1, -1) < 0)
        return errno;
    }
  return 0;
}

/* The message by which Node's child_process receives a server: one line of JSON and the descriptor. */
static int
hand_over (int fd, const struct item *item, int number)
{
  char text[128];
  int size = snprintf (text, sizeof text, "{\"cmd\":\"NODE_HANDLE\",\"type\":%s,\"msg\":%d}\n",
                       item->value == OVER_UDP ? "\"dgram.Socket\",\"dgramType\":\"udp4\"" : "\"net.Server\"",
                       number);
  struct iovec line = { .iov_base = text, .iov_len = (size_t) size };
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
  return send_all (&message);
}

/* A kernel without IPv6 has no program inside that would ask for it either. */
static int
is_missing_v6 (const struct item *item, int err)
{
  return strchr (item->path, ':') && (err == EAFNOSUPPORT || err == EADDRNOTAVAIL || err == EACCES);
}

void
network_enter (const struct plan *plan)
{
  int number = 0, err = raise_loopback ();

  if (err)
    die_at (STEP_LOOPBACK, NO_ITEM, err);
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->items[i].tag == TAG_LISTEN)
      {
        int fd;
        err = listen_on (&plan->items[i], number, &fd);
        if (err && !is_missing_v6 (&plan->items[i], err))
          die_at (STEP_LISTEN, (int) i, err);
        if (err == 0 && (err = hand_over (fd, &plan->items[i], number)))
          die_at (STEP_HAND_OVER, (int) i, err);
        if (fd >= 0)
          close (fd);
        number++;
      }
  if (number > 0)
    close (HANDLE_FD);
}
