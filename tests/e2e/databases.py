"""Real database servers for tests: each in a folder of its own, on a socket there, and killed at the end."""
import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from machine import skip_without

DEADLINE = 120
OWNER = pwd.getpwuid(os.geteuid()).pw_name  # who runs servers


class Server:
    """`login` are the parameters of a state that lead to it."""

    def __init__(self, socket, client, login):
        self.socket, self.client, self.login = socket, client, login

    def sql(self, text, check=True):
        """What the statements print, as lines."""
        result = subprocess.run(self.client, input=text, text=True, capture_output=True, check=False, cwd="/")
        assert not check or result.returncode == 0, result.stderr
        return result.stdout.splitlines()


@contextlib.contextmanager
def folder():
    """A short path: sockets cannot have long ones."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="zt"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def running(argv, ready, end_signal=signal.SIGKILL):
    """A process that ends with this one, and is ready when `ready` says so."""
    with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, argv)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + DEADLINE
            while not ready():
                assert process.poll() is None and time.monotonic() < end, f"{argv[0]} does not run"
                time.sleep(0.05)
            yield process
        finally:
            process.send_signal(end_signal)
            process.wait()


@contextlib.contextmanager
def mariadb():
    skip_without("mariadbd", "mariadb-install-db", "mariadb", "setpriv")
    with folder() as path:
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={path}/data", f"--user={OWNER}", "--skip-test-db",
                        "--auth-root-authentication-method=normal"], check=True, capture_output=True,
                       env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
        socket = path / "socket"
        client = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--batch", "--skip-column-names", "--raw"]
        argv = ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={path}/data", f"--socket={socket}", "--skip-networking",
                f"--user={OWNER}", f"--pid-file={path}/pid", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=8M"]

        def ready():
            return subprocess.run(client, input="SELECT 1;", text=True, capture_output=True, check=False).returncode == 0

        with running(argv, ready):
            yield Server(socket, client, f"{{connection_unix_socket: {socket}}}, {{connection_user: root}}")


AS_POSTGRES = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]


@contextlib.contextmanager
def postgres():
    """The role zt_admin logs in by password, everybody else by being the system user of that name."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    skip_without("psql", "setpriv")
    if not programs or os.geteuid() != 0:
        pytest.skip("a PostgreSQL server needs its package, and root to start it as another user")
    with folder() as path:
        shutil.chown(path, "postgres", "postgres")
        subprocess.run([*AS_POSTGRES, f"{programs[-1]}/initdb", "-D", f"{path}/data", "-U", "postgres", "--auth=peer", "--no-sync",
                        "--encoding=UTF8", "--locale=C"], check=True, capture_output=True, cwd="/")
        (path / "data/pg_hba.conf").write_text("local all zt_admin scram-sha-256\nlocal all all peer\n")
        client = [*AS_POSTGRES, "psql", "-h", str(path), "-U", "postgres", "-d", "postgres", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-"]
        argv = [*AS_POSTGRES, f"{programs[-1]}/postgres", "-D", f"{path}/data", "-c", "listen_addresses=", "-c",
                f"unix_socket_directories={path}", "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=20"]

        def ready():
            return subprocess.run(client, input="SELECT 1;", text=True, capture_output=True, check=False, cwd="/").returncode == 0

        with running(argv, ready, signal.SIGQUIT):
            yield Server(path, client, f"{{db_host: {path}}}")
