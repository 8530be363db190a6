"""Gives the loopback of this network namespace more addresses, so that it stands for the internet and for what is inside."""
import fcntl, socket, struct, sys

SET_ADDRESS, SET_FLAGS, SET_MASK, UP_AND_RUNNING, LOOPBACK = 0x8916, 0x8914, 0x891C, 0x41, 1

four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
fcntl.ioctl(four, SET_FLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))
for i, address in enumerate(sys.argv[1:]):
    if ":" in address:
        packed = socket.inet_pton(socket.AF_INET6, address)
        fcntl.ioctl(six, SET_ADDRESS, struct.pack("16sIi", packed, 128, LOOPBACK))
        continue
    for request, value in ((SET_ADDRESS, address), (SET_MASK, "255.255.255.255")):
        packed = socket.inet_pton(socket.AF_INET, value)
        fcntl.ioctl(four, request, struct.pack("16sHH4s8x", b"lo:%d" % i, socket.AF_INET, 0, packed))
