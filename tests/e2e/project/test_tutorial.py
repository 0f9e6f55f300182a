"""docs/tutorial.md, typed in from top to bottom by a reader with a machine of their own."""
import os
import pathlib
import re
import subprocess
import time

import pytest

from fleet import BUILD, SERVER
from test_documents import alike, commands

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/tutorial.md"
SECONDS = 60
# Folders of the system that the reader changes: changes go to a layer above them, which is forgotten.
CHANGED = ["/etc", "/var", "/run", "/srv", "/root"]

# The reader's machine: layers, a loopback of its own, and a shell that reads commands until its input ends.
MACHINE = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$1"
shift
for folder; do
    mkdir -p "$LAYERS$folder/upper" "$LAYERS$folder/work"
    chmod --reference="$folder" "$LAYERS$folder/upper"
    mount -t overlay -o "lowerdir=$folder,upperdir=$LAYERS$folder/upper,workdir=$LAYERS$folder/work" overlay "$folder"
done
rm -rf /etc/zester /var/lib/zester /var/lib/kepler /var/cache/zester /run/zester /srv/web
mount -t proc proc /proc
/usr/bin/python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))'
echo ready
cd /root
exec bash
"""


class Reader:
    """Types commands into one shell, and reads what each prints."""

    def __init__(self, folder):
        if os.geteuid() != 0:
            pytest.skip("the tutorial is for root")
        env = {**os.environ, "PATH": f"{BUILD}:{os.path.dirname(SERVER)}:{os.environ['PATH']}:/usr/sbin:/sbin", "HOME": "/root",
               "LAYERS": str(folder), "KEPLER_COLOR": "false"}
        words = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", MACHINE, "tutorial", str(folder), *CHANGED]
        self.shell = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = self.shell.stdout.readline()
        if line != "ready\n":
            self.close()
            pytest.skip(f"no machine of its own here: {line}")
        self.token = None

    def type(self, text):
        """What a command printed, and its exit status."""
        self.shell.stdin.write(f"{text} </dev/null 2>&1\necho \"--end $?--\"\n")
        self.shell.stdin.flush()
        lines = []
        for line in self.shell.stdout:
            end = re.search(r"--end (\d+)--$", line)
            if end:
                lines.append(line[:end.start()])
                return "".join(lines), int(end.group(1))
            lines.append(line)
        raise AssertionError("the shell ended: " + "".join(lines))

    def write(self, path, text):
        self.type(f"mkdir -p \"$(dirname {path})\"")
        self.shell.stdin.write(f"cat > {path} <<'END OF FILE'\n{text}END OF FILE\n")

    def follow(self, command, shown):
        """Type it again until it prints what the page shows: some things need a moment."""
        deadline = time.monotonic() + SECONDS
        while True:
            printed, status = self.type(command.replace("zt1.TOKEN", self.token or ""))
            found = re.search(r"zt1\.\S+", printed)
            if found:
                self.token = found.group(0)
                printed = printed.replace(self.token, "zt1.TOKEN")
            missing = [line for line in shown.splitlines() if line.strip() and alike(line) not in alike(printed)]
            if status == 0 and not missing:
                return
            assert time.monotonic() < deadline, f"$ {command}\n{printed}\nstatus {status}, not printed: {missing}"
            time.sleep(0.2)

    def close(self):
        self.shell.stdin.close()
        self.shell.kill()
        self.shell.wait(SECONDS)
        self.shell.stdout.close()


@pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
def test_everything_in_the_tutorial_works_as_it_says(tmp_path):
    reader = Reader(tmp_path)
    count = 0
    try:
        for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.M | re.S):
            if language == "yaml":
                reader.write(re.match(r"# (\S+)\n", text).group(1), text)
            for command, shown in commands(text) if language == "" else []:
                reader.follow(command, shown)
                count += 1
        assert count > 20
        reader.type("kepler daemon stop")
    finally:
        reader.close()
