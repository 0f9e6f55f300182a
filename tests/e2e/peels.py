"""Peels that are enrolled by hand: their keys and credentials are made here, so that tests of jobs do not wait for an enrollment."""
import base64

from enroll_client import Machine, seed_text
from fleet import BUILD, free_port, yaml_of

CREDS = """-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------
"""


def write_secret(path, text):
    path.write_text(text)
    path.chmod(0o600)


def fetch_credentials(fleet, master, name, auth):
    """Enroll a machine of this name, approve it, and keep its seed and credentials in `auth`."""
    machine = Machine(master.enroll_port, name, fleet.auth / "ca/root.crt")
    status, body = machine.submit(fleet.pin())
    assert status == 201, body
    fleet.zester("enroll", "approve", body["id"])
    status, body = machine.creds(body["id"])
    assert status == 200, body
    seed = seed_text(machine.seed)
    auth.mkdir(parents=True)
    write_secret(auth / f"{name}.seed", seed + "\n")
    write_secret(auth / f"{name}.creds", CREDS.format(jwt=base64.b64decode(body["creds_data"]).decode(), seed=seed))


def start_peel(fleet, master, name, environment=None, also=None, **keys):
    """A running peel with its own folders; `keys`, and those of the map `also`, are those of peel.yaml. It is known to masters when this returns."""
    folder = fleet.folder / name
    fetch_credentials(fleet, master, name, folder / "auth")
    conf = {"id": name.replace("_", "."), "nats_url": fleet.url, "nats_ca": str(fleet.auth / "nats-ca.crt"), "auth_dir": str(folder / "auth"),
            "data_dir": str(folder / "data"), "states_cache": str(folder / "states"), "facts_file": str(folder / "facts"),
            "health_addr": f"127.0.0.1:{free_port()}"}
    conf.update({**keys, **(also or {})})
    (folder / "peel.yaml").write_text(yaml_of(conf))
    peel = fleet.add(name, [f"{BUILD}/zester-peel", "--config", folder / "peel.yaml"], environment=environment,
                     health=int(conf["health_addr"].rsplit(":", 1)[1]))
    peel.folder = folder
    fleet.wait(lambda: fleet.zester(name, "test.ping", "--preview", status=None).returncode == 0, f"{name} has published facts")
    return peel


def start_with_tree(fleet, names, states, **keys):
    """A bus, a master, and peels of these names that have the tree of `states`: texts by name, one of them 'top'. `keys` are those of master.yaml.
    Afterwards fleet.tree is the tree, fleet.master the master, and fleet.peels the peels by name."""
    fleet.tree = fleet.folder / "tree"
    fleet.tree.mkdir()
    for name, text in states.items():
        (fleet.tree / f"{name}.zy").write_text(text)
    fleet.start_server()
    fleet.master = fleet.start_ready_master(enroll={"rate_burst": 0}, states_dir=str(fleet.tree), **keys)
    fleet.peels = {name: start_peel(fleet, fleet.master, name) for name in names}
    for peel in fleet.peels.values():
        fleet.wait((peel.folder / "states/top.zy").exists, f"{peel.name} has the tree")
