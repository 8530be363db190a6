/* A program that knows neither a proxy nor /etc/hosts nor nsswitch, as a static Go or musl program may not: it asks the name
 * server on port 53 itself, over UDP or TCP, and connects to what that says. Usage: raw-client NAME PORT udp|tcp */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int
make_question (unsigned char *out, const char *name)
{
  static const unsigned char head[12] = { 0x12, 0x34, 1, 0, 0, 1 };
  int at = sizeof head;

  memcpy (out, head, sizeof head);
  while (*name)
    {
      size_t size = strcspn (name, ".");
      out[at++] = (unsigned char) size;
      memcpy (out + at, name, size);
      at += (int) size;
      name += size + (name[size] == '.');
    }
  memcpy (out + at, "\0\0\1\0\1", 5);
  return at + 5;
}

static int
connect_to (const char *address, int port, int type)
{
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons ((unsigned short) port) };
  struct timeval wait = { .tv_sec = 100 };
  int fd = socket (AF_INET, type, 0);

  inet_pton (AF_INET, address, &to.sin_addr);
  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  if (fd < 0 || connect (fd, (struct sockaddr *) &to, sizeof to))
    {
      perror (address);
      exit (3);
    }
  return fd;
}

int
main (int argc, char **argv)
{
  unsigned char message[600];
  char text[INET_ADDRSTRLEN], body[4096];
  int tcp = argc > 3 && strcmp (argv[3], "tcp") == 0, size = make_question (message + 2, argv[1]);
  int fd = connect_to ("127.0.0.1", 53, tcp ? SOCK_STREAM : SOCK_DGRAM);
  ssize_t got;

  message[0] = 0;
  message[1] = (unsigned char) size;
  if (write (fd, message + (tcp ? 0 : 2), (size_t) size + (tcp ? 2 : 0)) < 0)
    return 4;
  got = read (fd, message, sizeof message) - (tcp ? 2 : 0);
  if (got < 12)
    return 5;
  memmove (message, message + (tcp ? 2 : 0), (size_t) got);
  if (message[7] == 0)
    return printf ("code %d\n", message[3] & 15), 0;
  inet_ntop (AF_INET, message + got - 4, text, sizeof text);
  fd = connect_to (text, atoi (argv[2]), SOCK_STREAM);
  dprintf (fd, "GET /raw HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", argv[1]);
  for (size_t all = 0; (got = read (fd, body + all, sizeof body - 1 - all)) >= 0; all += (size_t) got)
    {
      body[all + (size_t) got] = 0;
      if (got == 0)
        return printf ("%s %s\n", text, strstr (body, "\r\n\r\n") ? strstr (body, "\r\n\r\n") + 4 : body), 0;
    }
  perror ("read");
  return 6;
}
