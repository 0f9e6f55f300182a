"""A real systemd, as the manager of a user, on a machine of its own and in control groups of its own.

Units are in /srv/data/systemd/user, what is enabled and masked is in /srv/config/systemd/user."""
import contextlib
import errno
import glob
import os
import pathlib

import pytest

from kepler_home import wait_until

SYSTEMD = "/lib/systemd/systemd"
SOCKET = "/run/user/0/systemd/private"
# In tenths of a second.
PATIENCE = 600


def make_groups():
    tops = [top for top in ("/sys/fs/cgroup", *glob.glob("/sys/fs/cgroup/*")) if os.path.exists(f"{top}/cgroup.procs")]
    groups = [pathlib.Path(top, f"zester-systemd-{os.getpid()}") for top in tops if not os.path.islink(top) and
              "cpuset" not in top]
    try:
        for group in groups:
            group.mkdir()
    except OSError as error:
        remove_groups(groups)
        pytest.skip(f"no control groups for a systemd here: {error}")
    return groups


def remove_groups(groups):
    """What has ended may be in them for a moment longer."""
    for group in groups:
        for folder in sorted(group.glob("**/"), reverse=True):
            wait_until(lambda: removed(folder), f"nobody is in {folder}")


def removed(folder):
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def until(condition):
    """Shell: wait for a condition; not for ever."""
    return f"i=0; until {condition}; do i=$((i + 1)); [ $i -lt {PATIENCE} ] || exit 1; sleep 0.1; done"


@contextlib.contextmanager
def manager(machine):
    if not os.path.exists(SYSTEMD):
        pytest.skip(f"there is no {SYSTEMD}: the package systemd is not installed")
    groups = make_groups()
    machine.env.update(XDG_RUNTIME_DIR="/run/user/0", XDG_CONFIG_HOME="/srv/config", XDG_DATA_HOME="/srv/data")
    try:
        started = machine.sh("mkdir -p /run/systemd/system /run/user/0; chmod 700 /run/user/0; " +
                             "".join(f"echo $$ > {group}/cgroup.procs; " for group in groups) +
                             f"setsid {SYSTEMD} --user </dev/null >/run/log 2>&1 & pid=$!; " +
                             until(f"[ -S {SOCKET} ] || ! kill -0 $pid") + f"; [ -S {SOCKET} ]", check=False)
        if started.returncode != 0:
            pytest.skip("systemd does not run here: " + machine.sh("tail -n 3 /run/log", check=False).stdout)
        yield machine
    finally:
        machine.run("/usr/bin/systemctl", "--user", "exit", check=False)
        for group in groups:
            machine.sh(until(f"! grep -q . {group}/cgroup.procs {group}/init.scope/cgroup.procs"), check=False)
        remove_groups(groups)
