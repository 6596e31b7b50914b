#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal.py COLUMNS LINES CMD...: runs CMD on a terminal of that size and prints what it got
there, escape characters as "^[". The exit status is CMD's."""
import fcntl
import os
import pty
import struct
import sys
import termios

columns, lines = int(sys.argv[1]), int(sys.argv[2])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    os.execvp(sys.argv[3], sys.argv[3:])
out = b""
while True:
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    out += chunk
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(out.replace(b"\r\n", b"\n").replace(b"\x1b", b"^["))
sys.exit(os.waitstatus_to_exitcode(status))
