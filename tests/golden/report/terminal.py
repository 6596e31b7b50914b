#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal.py COLUMNS LINES CMD...: runs CMD on a terminal of that size and prints what it got
there, escape characters as "^[". The exit status is CMD's."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios


def read_until_end(reader, pid):
    """What was written until the process ended, or soon after."""
    end = os.pidfd_open(pid)
    out = b""
    while True:
        ready = select.select([reader, end], [], [])[0]
        if reader not in ready:
            return out
        out += os.read(reader, 65536)


def read_rest(reader):
    """What is left of a terminal that nobody has open any more."""
    out = b""
    while True:
        try:
            chunk = os.read(reader, 65536)
        except OSError:
            return out
        out += chunk


columns, lines = int(sys.argv[1]), int(sys.argv[2])
reader, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
child = subprocess.Popen(sys.argv[3:], stdin=terminal, stdout=terminal, stderr=terminal,
                         start_new_session=True)
# The terminal stays open until CMD has ended: a reader that looks while the last writer closes it
# may be told that it is gone before the last text has come through.
text = read_until_end(reader, child.pid)
os.close(terminal)
text += read_rest(reader)
sys.stdout.buffer.write(text.replace(b"\r\n", b"\n").replace(b"\x1b", b"^["))
sys.stdout.flush()
sys.exit(child.wait())
