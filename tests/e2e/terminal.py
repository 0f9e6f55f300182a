"""Commands on a terminal."""
import fcntl
import os
import pty
import struct
import subprocess
import termios


def run_on_terminal(argv, stdout=False, size=(50, 200), seconds=120, seen=None, **more):
    """What a command writes to the terminal that is its standard error, and output if so wished; and its exit status.
    `seen` is called with all of it whenever there is more."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    command = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                               stdout=theirs if stdout else subprocess.DEVNULL, stderr=theirs, **more)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
            if seen:
                seen(text.decode(errors="replace"))
    except OSError:
        pass  # the terminal is gone
    os.close(ours)
    return text.decode(), command.wait(seconds)
