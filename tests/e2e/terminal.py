"""Commands on a terminal."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time


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


class Screen:
    """A program that draws on the whole of a terminal, all three streams of it.

        with Screen(argv) as screen:
            screen.wait("MACHINE")
            screen.press("q")
            assert screen.end() == 0 and screen.is_restored()
    """

    def __init__(self, argv, size=(24, 100), **more):
        self.ours, self.theirs = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.theirs)
        self.output = ""
        self.process = subprocess.Popen(argv, stdin=self.theirs, stdout=self.theirs, stderr=self.theirs, start_new_session=True, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for end in (self.ours, self.theirs):
            os.close(end)

    def resize(self, rows, columns):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if hasattr(self, "process"):  # no terminal of its own: the kernel tells nobody
            self.process.send_signal(signal.SIGWINCH)

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def read(self, seconds=0.05):
        """Add what was drawn meanwhile."""
        while select.select([self.ours], [], [], seconds)[0]:
            self.output += os.read(self.ours, 65536).decode(errors="replace")
            seconds = 0

    def lines(self):
        """The last picture that is whole."""
        whole = [frame for frame in self.output.split("\x1b[H") if "\x1b[J" in frame]
        text = whole[-1].split("\x1b[J")[0] if whole else ""
        return [re.sub("\x1b\\[[0-9;]*[mK]", "", line).rstrip("\r") for line in text.split("\n")]

    def wait(self, part, seconds=60):
        """Until a line has this part; returns all lines."""
        deadline = time.monotonic() + seconds
        while True:
            self.read()
            lines = self.lines()
            if any(part in line for line in lines):
                return lines
            assert time.monotonic() < deadline and self.process.poll() is None, f"no '{part}' in {lines}\n{self.output[-2000:]}"

    def end(self, seconds=60):
        """The exit status."""
        status = self.process.wait(seconds)
        self.read()
        return status

    def is_restored(self):
        """Is the terminal as it was: its settings, cursor, wrap and screen?"""
        tail = self.output[self.output.rindex("\x1b[?1049h"):]
        return (termios.tcgetattr(self.theirs) == self.before and
                all(word in tail for word in ("\x1b[?25h", "\x1b[?7h")) and "\x1b[?1049l" in tail)
