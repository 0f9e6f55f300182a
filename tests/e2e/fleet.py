"""A fleet on loopback for tests: a fresh folder, free ports, a nats-server with generated keys, masters and peels.

    with Fleet(tmp_path) as fleet:
        fleet.start_server()
        master = fleet.start_master()
        fleet.wait_ready(master)
        peel = fleet.start_peel("web-01")
        fleet.zester("enroll", "approve", "--peel", "web-01")

Every process is gone at the end. Whatever waits has a deadline of SECONDS, and then shows the logs.
"""
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time

from enroll_client import derive_account, nkey, public_of, read_jwt, read_seed, sign_claims

BUILD = os.path.abspath(os.environ.get("ZESTER_BUILD", "build/asan"))
SERVER = os.environ.get("NATS_SERVER") or shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
SECONDS = 60
# A daemon that gets SIGTERM is gone after this.
STOP_SECONDS = 8
LOG_TAIL = 6000
PORTS = (12000, 32000)


# A clock that is wrong by so many seconds; that for deadlines is not.
WRONG_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *time)
{
    int (*next)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(id, time);

    if (id == CLOCK_REALTIME)
        time->tv_sec += SECONDS_WRONG;
    return result;
}
"""


CLAIMS = []  # of ports: names that only one process of the machine can have, and that end with it


def free_port():
    """One that no other test takes meanwhile: below those that the kernel gives out, and claimed until this process ends."""
    while True:
        port = random.randrange(*PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            claim = socket.socket(socket.AF_UNIX)
            CLAIMS.append(claim)
            claim.bind(f"\0zester-test-port-{port}")
            probe.bind(("127.0.0.1", port))
            return port


def yaml_of(keys):
    """Nested maps of plain values as YAML; JSON is YAML."""
    return json.dumps(keys, indent=1) + "\n"


def empty_folder(folder):
    """The folder, without what earlier tests left in it."""
    for path in folder.iterdir():
        path.rmdir() if path.is_dir() else path.unlink()
    return folder


def read_marks(path):
    """The words of a file that commands of a test append to."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text().split()
    return []


class Daemon:
    """A process with a log file, and a port for health when it has one."""

    def __init__(self, fleet, name, words, health=None, environment=None):
        self.fleet, self.name, self.health = fleet, name, health
        self.words, self.environment = [str(word) for word in words], environment
        self.log_path = fleet.folder / f"{name}.log"
        self.process = None
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env={**os.environ, **(self.environment or {})})

    def log(self):
        return self.log_path.read_text(errors="replace")

    def lines(self):
        """What was logged as JSON."""
        whole = self.log().rpartition("\n")[0]  # the last line may be half written
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    def has_logged(self, text):
        return text in self.log()

    def is_running(self):
        return self.process.poll() is None

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM, seconds=SECONDS):
        """End it and return its exit status."""
        if self.is_running():
            self.send(number)
        return self.process.wait(seconds)

    def kill(self):
        self.stop(signal.SIGKILL)

    def get(self, path):
        """Status and text of a page of its health port; status 0 when nobody listens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.health, timeout=SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except ConnectionError:
            return 0, ""
        finally:
            connection.close()

    def checks(self):
        """Name of a check -> its status."""
        status, text = self.get("/readyz")
        return {name: check["status"] for name, check in json.loads(text)["checks"].items()} if status else {}

    def metric(self, name):
        """The value of the line that begins with `name` (labels included), or None."""
        match = re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics")[1], re.M)
        return float(match.group(1)) if match else None


class Fleet:
    def __init__(self, folder):
        self.folder = folder
        self.auth = folder / "auth"
        self.daemons = []
        self.port = free_port()
        self.server = None
        self.url = f"tls://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for daemon in self.daemons:
            daemon.kill()

    def add(self, name, words, **more):
        daemon = Daemon(self, name, words, **more)
        self.daemons.append(daemon)
        return daemon

    # --- commands -------------------------------------------------------------------------

    def run(self, program, *words, status=0, cwd=None, environment=None):
        result = subprocess.run([f"{BUILD}/{program}", *map(str, words)], capture_output=True, text=True, timeout=SECONDS,
                                cwd=cwd or self.folder, env={**os.environ, **(environment or {})})
        assert status is None or result.returncode == status, f"{program} {words}: {result.returncode}\n" \
            f"{result.stdout}{result.stderr}\n{self.logs()}"
        return result

    def zester(self, *words, waits=False, **more):
        """A command of the operator, with the credentials of this fleet. What publishes does not wait for peels, unless `waits`."""
        if not waits and words[:1] == ("fileserver",) and words[1] in ("update", "rollback", "canary", "promote"):
            words = (*words, "--no-wait")
        return self.run("zester", *words, "--config", self.write_cli_conf(), **more)

    def zester_json(self, *words, **more):
        return json.loads(self.zester(*words, "--format", "json", **more).stdout)

    def write_cli_conf(self):
        path = self.folder / "cli.yaml"
        text = yaml_of({"master": {"urls": self.url.split(","), "creds_file": str(self.auth / "admin.creds"),
                                   "tls_ca": str(self.auth / "nats-ca.crt")}})
        if not path.exists() or path.read_text() != text:  # others may be reading it
            path.write_text(text)
        return path

    # --- the bus --------------------------------------------------------------------------

    def make_keys(self, *more):
        self.run("zester", "nats-auth", "init", "--dir", self.auth, "--nats-conf", self.folder / "nats.conf",
                 "--jetstream-store", self.folder / "js", "--host", "127.0.0.1", "--port", self.port, *more)
        conf = self.folder / "nats.conf"
        conf.write_text(re.sub(r"^http: .*\n", "", conf.read_text(), flags=re.M))

    def make_shared_account(self):
        """Keys as they were made when peels and operators lived in the account of the fleet."""
        self.make_keys()
        conf, jwt = self.folder / "nats.conf", self.auth / "account.jwt"
        old, claims = jwt.read_text().strip(), read_jwt(jwt.read_text())
        for key in ("exports", "imports", "tags"):
            del claims["nats"][key]
        new = sign_claims(claims, "O", read_seed(self.auth / "operator-signing.seed"))
        jwt.write_text(new + "\n")
        text = conf.read_text().replace(old, new)
        for role in ("peels", "operators"):
            text = re.sub(rf"^  {nkey('A', public_of(derive_account(self.auth / 'account.seed', role)))}: .*\n", "", text, flags=re.M)
        conf.write_text(text)

    def start_server(self):
        """Make all keys when they are not there, start the server, and wait until it listens."""
        if not self.auth.exists():
            self.make_keys()
        self.server = self.add("nats", [SERVER, "-c", self.folder / "nats.conf"])
        self.wait(lambda: self.listens(self.port), "nats-server listens")
        return self.server

    def start_cluster(self, count=3, conf=None):
        """A cluster instead of one server; self.servers are its processes, self.ports where they listen.
        `conf` is the configuration of the first one; without it, all keys are made."""
        if conf is None:
            self.make_keys()
            conf = self.folder / "nats.conf"
        text = re.sub(r"^http: .*\n", "", conf.read_text(), flags=re.M)
        self.ports = [self.port, *(free_port() for _ in range(count - 1))]
        routes = [free_port() for _ in range(count)]
        for number, (port, route) in enumerate(zip(self.ports, routes)):
            others = ", ".join(f'"nats-route://127.0.0.1:{other}"' for other in routes if other != route)
            own = re.sub(r"^server_name: .*$", f"server_name: n{number}", text, flags=re.M)
            own = re.sub(r"^port: .*$", f"port: {port}", own, flags=re.M).replace(f'{self.folder}/js', f'{self.folder}/js{number}')
            own += f'cluster {{\n  name: test\n  listen: "127.0.0.1:{route}"\n  routes: [{others}]\n}}\n'
            (self.folder / f"nats{number}.conf").write_text(own)
        self.servers = [self.add(f"nats{number}", [SERVER, "-c", self.folder / f"nats{number}.conf"]) for number in range(count)]
        for port in self.ports:
            self.wait(lambda port=port: self.listens(port), "nats-server listens")
        self.url = ",".join(f"tls://127.0.0.1:{port}" for port in self.ports)

    @staticmethod
    def listens(port):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=SECONDS):
            return True
        return False

    # --- daemons --------------------------------------------------------------------------

    def master_conf(self, name, **keys):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        conf = {"nats_url": self.url, "auth_dir": str(self.auth), "health_addr": f"127.0.0.1:{free_port()}",
                "states_dir": f"{folder}/states", "settings_dir": f"{folder}/settings",
                "orchestrate_dir": f"{folder}/orchestrations", "publisher_status_file": f"{folder}/publisher-status"}
        conf["files_check"] = "dir" not in keys.get("reactor", {})  # tests of reactions publish rules with mistakes on purpose
        conf.update(keys)
        conf = {key: value for key, value in conf.items() if value is not None}
        conf["reactor"] = {"dir": f"{folder}/reactor", **conf.get("reactor", {})}
        conf["enroll"] = {"addr": f"127.0.0.1:{free_port()}", **conf.get("enroll", {})}
        return conf

    def start_master(self, name="master", environment=None, **keys):
        """Keys are those of master.yaml; nested ones are maps, and None leaves one out."""
        conf = self.master_conf(name, **keys)
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml_of(conf))
        master = self.add(name, [f"{BUILD}/zester-master", "--config", path], environment=environment,
                          health=int(conf["health_addr"].rsplit(":", 1)[1]))
        master.conf, master.conf_path = conf, path
        master.enroll_port = int(conf["enroll"]["addr"].rsplit(":", 1)[1])
        return master

    def start_ready_master(self, name="master", **keys):
        master = self.start_master(name, **keys)
        self.wait_ready(master)
        return master

    def peel_conf(self, name, **keys):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        conf = {"id": name, "nats_url": self.url, "auth_dir": f"{folder}/auth", "data_dir": f"{folder}/data",
                "states_cache": f"{folder}/states", "facts_file": f"{folder}/facts", "health_addr": f"127.0.0.1:{free_port()}"}
        masters = [f"https://127.0.0.1:{daemon.enroll_port}" for daemon in self.daemons if getattr(daemon, "enroll_port", None)]
        conf.update({"master_urls": masters} if masters else {})
        conf.update(keys)
        return conf

    def start_peel(self, name, environment=None, **keys):
        """Keys are those of peel.yaml. It enrolls at the masters that were started before it."""
        conf = self.peel_conf(name, **keys)
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml_of(conf))
        peel = self.add(name, [f"{BUILD}/zester-peel", "--config", path], environment=environment,
                        health=int(conf["health_addr"].rsplit(":", 1)[1]))
        peel.conf, peel.conf_path, peel.folder = conf, path, self.folder / name
        return peel

    def approve_peel(self, peel):
        """Wait until it has asked, say yes, and wait until it is connected."""
        self.wait(lambda: peel.has_logged("enrollment submitted"), f"{peel.name} has asked")
        self.zester("enroll", "approve", "--peel", peel.name)
        self.wait_ready(peel)

    def start_ready_peel(self, name, **keys):
        peel = self.start_peel(name, **keys)
        self.approve_peel(peel)
        return peel

    def pin(self):
        """What machines that enroll should trust."""
        return self.run("zester", "ca", "fingerprint", "--dir", self.auth / "ca").stdout.strip()

    def wrong_clock(self, seconds):
        """The environment of a program whose clock is wrong by so much."""
        library = self.folder / f"clock{seconds}.so"
        (self.folder / "clock.c").write_text(WRONG_CLOCK)
        subprocess.run(["cc", "-shared", "-fPIC", f"-DSECONDS_WRONG={seconds}", "-o", library, self.folder / "clock.c"],
                       check=True, timeout=SECONDS)
        return {"LD_PRELOAD": str(library), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    # --- waiting --------------------------------------------------------------------------

    def logs(self):
        return "\n".join(f"--- {daemon.name} (status {daemon.process.poll()})\n{daemon.log()[-LOG_TAIL:]}" for daemon in self.daemons)

    def wait(self, condition, what, seconds=SECONDS):
        """Until `condition` is true; returns what it returned. `what` is a text, or makes one in the end."""
        deadline = time.monotonic() + seconds
        while True:
            result = condition()
            if result:
                return result
            assert time.monotonic() < deadline, f"not in time: {what() if callable(what) else what}\n{self.logs()}"
            time.sleep(0.02)

    def wait_ready(self, daemon, seconds=SECONDS):
        def is_ready():
            assert daemon.is_running(), self.logs()
            return daemon.get("/readyz")[0] == 200
        self.wait(is_ready, lambda: f"{daemon.name} is ready, which says {daemon.get('/readyz')}", seconds)
