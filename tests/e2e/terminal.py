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
    """What a command writes to the terminal that is its standard error, and output if asked for; and its exit status.
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


def answer_on_terminal(command, answer):
    """The exit status and the output; the answer is typed when there is a question."""
    pid, fd = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell ignores it for what runs in the background
        os.execv(command[0], command)
    said, deadline = b"", time.monotonic() + 60
    try:
        while True:
            if not select.select([fd], [], [], max(deadline - time.monotonic(), 0))[0]:
                os.kill(pid, signal.SIGKILL)
                break
            data = os.read(fd, 4096)
            asked = b"[y/N]" in said
            said += data
            if b"[y/N]" in said and not asked:
                os.write(fd, answer)
    except OSError:
        pass  # the end of a terminal
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode()


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


class Tmux:
    """A program in a window of tmux, which is a terminal in its own right: what is read is what a person would see.

        with Tmux(folder, "zester top") as window:
            window.wait("MACHINE")
            window.press("q")
            window.wait("ended 0")
    """

    def __init__(self, folder, command, size=(24, 100), env=None):
        self.socket = os.path.join(folder, "tmux")
        self.env = dict(env or os.environ, TERM="screen", LC_ALL="C.UTF-8")
        self.env.pop("TMUX", None)
        # The shell stays, so that the screen can be read after the program has ended.
        script = f"echo begun; {command}; echo ended $?; exec cat"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[1]), "-y", str(size[0]), "sh", "-c", script)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)

    def tmux(self, *words, check=True):
        done = subprocess.run(["tmux", "-S", self.socket, *words], env=self.env, text=True, capture_output=True, timeout=60, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, rows, columns):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def lines(self):
        return self.tmux("capture-pane", "-p").split("\n")

    def wait(self, part, seconds=60):
        """Until a line has this part; returns all lines."""
        deadline = time.monotonic() + seconds
        while True:
            lines = self.lines()
            if any(part in line for line in lines):
                return lines
            assert time.monotonic() < deadline, f"no '{part}' in {lines}"
            time.sleep(0.05)
