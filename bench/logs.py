"""Logs: a child that writes 1,000,000 lines of 100 bytes, stored with the time of each

Ours also keeps the service of each line, an index by time and service, and checksums. supervisord stores
lines without a time. The bare loop does nothing but read, stamp and write. Rows of the daemon are the whole way of
a service's lines: start of the daemon, pipe, thread, store, stop. Processor time is that of both ends of the pipe.
"""
import os
import shutil
import tempfile

from frame import Failure, Line

LINES = 1_000_000
LINE_SIZE = 100
RUNS = 5

SUPERVISORD = """[supervisord]
nodaemon=true
logfile=/dev/null
logfile_maxbytes=0
pidfile={folder}/pid
[program:writer]
command={driver} {how} {lines}
autorestart=false
startsecs=0
stdout_logfile={folder}/out
stdout_logfile_maxbytes=0
"""


class Work:
    """A fresh folder for each run."""

    def __init__(self, bench, folder):
        self.bench, self.folder, self.driver = bench, folder, bench.driver("logs")

    def renew(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def whole(self, sample):
        """The sample, if the last run stored all bytes."""
        paths = (os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names)
        if sum(map(os.path.getsize, paths)) < LINES * LINE_SIZE:
            raise Failure(f"{self.folder} does not hold all lines")
        return sample

    def pipe(self, how, sink):
        command = f"{self.driver} {how} {LINES} | {sink}"
        return self.whole(self.bench.measure(["sh", "-c", command], runs=RUNS, before=self.renew))

    def supervisord(self, how, program):
        config = os.path.join(self.folder, "supervisord.conf")

        def before():
            self.renew()
            with open(config, "w", encoding="ascii") as file:
                file.write(SUPERVISORD.format(folder=self.folder, driver=self.driver, how=how, lines=LINES))

        command = [self.driver, "until", f"{self.folder}/out", str(LINES * LINE_SIZE), program, "-n", "-c", config]
        return self.whole(self.bench.measure(command, runs=RUNS, before=before))


    def daemon(self, how):
        config = os.path.join(self.folder, "kepler.yaml")
        env = dict(os.environ, KEPLER_DAEMON_PATH=os.path.join(self.folder, "state"))

        def before():
            self.renew()
            with open(config, "w", encoding="ascii") as file:
                file.write("kepler: {logs: {retention: {on_stop: retain}}}\n"
                           f"services:\n  writer: {{command: [{self.driver}, {how}, '{LINES}']}}\n")

        kepler, daemon = self.bench.program("kepler"), self.bench.program("kepler-daemon")
        script = (f"{daemon} 2>/dev/null & until [ -S {self.folder}/state/kepler.sock ]; do sleep 0.002; done; "
                  f"{kepler} -q -f {config} start -d && until {kepler} -f {config} ps | grep -q Exited; do sleep 0.005; done; "
                  "kill $!; wait")
        return self.whole(self.bench.measure(["sh", "-c", script], runs=RUNS, before=before, env=env))


# Peers that read a pipe, and how they are told to stamp lines and to keep all of them.
PEERS = {
    "s6-log": "{program} -b n100 s16777216 T {folder}/s6",
    "multilog": "{program} t n100 s16777215 {folder}/multilog",
    "svlogd": "{{ mkdir {folder}/svlogd; printf 's0\\nn100\\n' > {folder}/svlogd/config; {program} -tt {folder}/svlogd; }}",
}


def lines(bench):
    folder = tempfile.mkdtemp(prefix="zester-bench-logs.")
    work = Work(bench, os.path.join(folder, "work"))
    try:
        for how, what in (("blocks", "in blocks"), ("lines", "line by line")):
            ours = work.pipe(how, f"{work.driver} store {work.folder}/store")
            bare = work.pipe(how, f"{work.driver} bare {work.folder}/bare")
            yield Line(what, ours, "bare C loop", bare, "2x", LINES)
            yield Line(f"{what}, by the daemon", work.daemon(how), "bare C loop", bare, "", LINES)
            for name, sink in PEERS.items():
                program = bench.peer(name)
                command = sink.format(program=program, folder=work.folder)
                yield Line(what, ours, name, work.pipe(how, command) if program else None, "1x", LINES)
            program = bench.peer("supervisord")
            yield Line(what, ours, "supervisord", work.supervisord(how, program) if program else None, "", LINES)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
