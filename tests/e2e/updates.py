"""A fleet whose daemons run below watchdogs, for tests of updates."""
import json

from fleet import BUILD, Fleet, yaml_of
from peels import fetch_credentials

# Times that a busy machine can keep, and tests can wait for.
TIMES = {"probe_interval": "200ms", "backoff_min": "100ms", "status_interval": "500ms", "start_within": "60s"}
ROLLOUT = ("--soak", "300ms", "--pause", "0s")


class Updates:
    """A fleet whose daemons run below watchdogs."""

    def __init__(self, folder):
        self.fleet = Fleet(folder)
        self.folder = folder
        self.key = self.keygen("release")
        self.watchdogs = {}

    def keygen(self, name):
        return self.fleet.run("zester", "update", "keygen", self.folder / f"{name}.seed").stdout.strip()

    def script(self, name, line):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n# {name}\n{line}\n")
        path.chmod(0o755)
        return path

    def publish(self, version, component="peel", line=None, key="release", *more):
        """A version is a script: another file, hence another binary, that runs the daemon of this build, or does something else."""
        line = line or f'exec {BUILD}/zester-{component} "$@"'
        return self.fleet.zester("update", "publish", version, self.script(f"{component}-{version}", line), "--component", component,
                                 "--key", self.folder / f"{key}.seed", *more)

    def write_conf(self, name, component, config, **keys):
        path = self.folder / f"{name}-watchdog.yaml"
        path.write_text(yaml_of({"component": component, "child_config": str(config), "program": f"{BUILD}/zester-{component}",
                                 "slots_dir": str(self.folder / f"{name}-slots"), "trusted_keys": [self.key], "id": name, **TIMES, **keys}))
        return path

    def start_watchdog(self, name, component, config, health):
        daemon = self.fleet.add(f"{name}-watchdog", [f"{BUILD}/zester-watchdog", "--config", self.write_conf(name, component, config)],
                                health=health)
        daemon.config = config
        self.watchdogs[name] = daemon
        return daemon

    def start_peel(self, name, master):
        auth = self.folder / name / "auth"
        fetch_credentials(self.fleet, master, name, auth)
        conf = self.fleet.peel_conf(name, nats_ca=str(self.fleet.auth / "nats-ca.crt"))
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml_of(conf))
        return self.start_watchdog(name, "peel", path, int(conf["health_addr"].rsplit(":", 1)[1]))

    def start_master(self, name):
        conf = self.fleet.master_conf(name, rollout_resume_interval="1s")
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml_of(conf))
        return self.start_watchdog(name, "master", path, int(conf["health_addr"].rsplit(":", 1)[1]))

    def poll(self, *words):
        """What a command prints as JSON; None when it fails, as it may on a machine that is too busy: who polls asks again."""
        result = self.fleet.zester(*words, "--format", "json", status=None)
        return json.loads(result.stdout) if result.returncode == 0 else None

    def nodes(self):
        return {node["id"]: node for node in self.fleet.zester_json("update", "status")}

    def wait_node(self, name, **wanted):
        def is_so():
            node = {node["id"]: node for node in self.poll("update", "status") or []}.get(name)
            return node if node and all(node[key] == value for key, value in wanted.items()) else None
        return self.fleet.wait(is_so, lambda: f"{name} has {wanted}, among {self.poll('update', 'status')}", 120)

    def rollout(self, version, target, *more, status=0):
        """Start it and wait for its end; returns the record."""
        result = self.fleet.zester("update", "rollout", version, target, *ROLLOUT, "--wait", "--format", "json", *more, status=status)
        return json.loads(result.stdout)

    def start_rollout(self, version, target, *more):
        return self.fleet.zester_json("update", "rollout", version, target, "--pause", "0s", *more)["id"]

    def record(self, rollout):
        return self.fleet.zester_json("update", "rollouts", rollout)

    def wait_over(self, rollout):
        def is_over():
            record = self.poll("update", "rollouts", rollout)
            return record if record and record["state"] in ("completed", "aborted") else None
        return self.fleet.wait(is_over, lambda: f"{rollout} is over, it is {self.poll('update', 'rollouts', rollout)}", 120)

    def wait_peel(self, name):
        self.fleet.wait_ready(self.watchdogs[name])
        self.wait_node(name, state="idle")
        self.fleet.wait(lambda: self.pings(name), f"{name} answers")

    def pings(self, name):
        return self.fleet.zester(name, "test.ping", status=None).returncode == 0

    def close(self):
        """Daemons end with their watchdogs, after them."""
        for watchdog in self.watchdogs.values():
            watchdog.stop()


def statuses(record):
    return {name: node["status"] for name, node in record["node_results"].items()}
