"""zester-master health and zester-peel health: what supervisors and people ask a daemon."""
import json
import socket

import pytest

from fleet import BUILD, SERVER, Fleet, free_port

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("fleet")) as made:
        yield made


def test_a_daemon_that_does_not_run_is_reported_with_its_address(fleet):
    port = free_port()
    said = fleet.run("zester-master", "health", "--health-addr", f"127.0.0.1:{port}", status=1)
    assert f"zester-master is not running: '127.0.0.1:{port}': " in said.stderr and said.stdout == ""
    conf = fleet.folder / "peel.yaml"
    conf.write_text(f"health_addr: 127.0.0.1:{port}\nid: web-01\n")
    said = fleet.run("zester-peel", "health", "--config", conf, status=1)
    assert f"zester-peel is not running: '127.0.0.1:{port}': " in said.stderr
    assert "/none.yaml: file not found" in fleet.run("zester-peel", "health", "--config", "/none.yaml", status=1).stderr


def test_a_master_is_ready_when_the_bus_is_and_each_check_has_a_line(fleet):
    fleet.make_keys()
    master = fleet.start_master()
    said = fleet.run("zester-master", "health", "--config", master.conf_path, status=None)
    assert said.returncode != 0, "there is no bus yet"
    fleet.start_server()
    said = fleet.run("zester-master", "health", "--config", master.conf_path, "--wait", "60s")
    rows = [line.split() for line in said.stdout.splitlines()]
    assert rows[0] == ["CHECK", "STATUS", "NOTE"]
    assert {row[0] for row in rows[1:]} == set(master.checks())
    checks = json.loads(master.get("/readyz")[1])["checks"].values()
    assert all({"status", "latency_ms"} <= set(check) and 0 <= check["latency_ms"] < 2000 for check in checks), checks


def test_an_answer_that_is_not_ours_is_refused(fleet):
    said = fleet.run("zester-master", "health", "--health-addr", f"127.0.0.1:{fleet.port}", status=1)
    assert "the answer is not HTTP" in said.stderr


def test_an_agent_whose_health_port_is_in_use_runs_and_serves_health_once_the_port_is_free(fleet):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        conf = fleet.folder / "taken.yaml"
        conf.write_text(f"health_addr: 127.0.0.1:{port}\nid: web-02\nmaster_url: https://127.0.0.1:{free_port()}\n"
                        f"auth_dir: {fleet.folder}/taken/auth\ndata_dir: {fleet.folder}/taken/data\n")
        peel = fleet.add("taken", [f"{BUILD}/zester-peel", "--config", conf], health=port)
        fleet.wait(lambda: "health is not served" in peel.log() and "peel started" in peel.log(), "the agent runs without the page")
        assert "Address already in use" in peel.log()
    fleet.wait(lambda: fleet.run("zester-peel", "health", "--config", conf, status=None).stdout.startswith("CHECK"), "the page is served")
