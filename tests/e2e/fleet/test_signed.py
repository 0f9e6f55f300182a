"""Somebody with the power of a server, but without the key of the account, changes published trees: nobody uses them."""
import hashlib

import pytest

from fleet import SERVER, Fleet
from intruder import RECORDS, Intruder
from packing import pack
from peels import start_peel

pytestmark = pytest.mark.skipif(not SERVER, reason="no nats-server in PATH")
TREES = {"states": {"web.zy": "said: {cmd.run: [{name: echo one}]}\n"}, "settings": {"top.zy": "base: {'*': [color]}\n", "color.zy": "color: red\n"},
         "reactor": {"top.zy": "reactor: [{'deploy/*': [reactor.a]}]\n", "a.zy": "x: {log: {message: a}}\n"}}
FORGED = b"said: {cmd.run: [{name: echo forged}]}\n"


def start_master(fleet, name, **more):
    """One that does not repair by itself what somebody changed on the bus."""
    for tree, files in TREES.items():
        (fleet.folder / name / tree).mkdir(parents=True)
        for path, text in files.items():
            (fleet.folder / name / tree / path).write_text(text)
    return fleet.start_master(name, publisher_status_file="", files_republish_interval="1h", files_mirror_after="0s", files_watch=False, **more)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with Fleet(tmp_path_factory.mktemp("signed")) as fleet:
        fleet.start_server()
        fleet.one = start_master(fleet, "one")
        fleet.wait(lambda: all(fleet.one.has_logged(f"published {name}:") for name in TREES), "the first one publishes")
        fleet.two = start_master(fleet, "two")
        fleet.wait_ready(fleet.two)
        fleet.peel = start_peel(fleet, fleet.one, "web-01")
        fleet.wait(lambda: said(fleet) == "one", "the peel has the tree")
        yield fleet


@pytest.fixture
def intruder(fleet):
    with Intruder(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as intruder:
        yield intruder
    fleet.zester("fileserver", "update", "--force")
    said(fleet)
    fleet.wait(lambda: fleet.peel.checks().get("files") == "ok", "the peel has what masters publish")


def said(fleet):
    """What the states of the peel print when they are applied."""
    results = fleet.zester_json("web-01", "state.apply", "web", status=None)[0].get("results")
    return results[0]["details"]["stdout"] if results else ""


def publish(fleet, word):
    """A tree of states that says it."""
    (fleet.folder / "one/states/web.zy").write_text(TREES["states"]["web.zy"].replace("one", word))
    fleet.zester("fileserver", "update")
    fleet.wait(lambda: said(fleet) == word, f"the states say {word}")


def is_refused(fleet, reason):
    """The peel says why it keeps the files that it has. A job lets it look at once."""
    said(fleet)
    fleet.wait(lambda: fleet.peel.checks().get("files") == "degraded" and reason in fleet.peel.get("/readyz")[1], f"refused: {reason}")
    return f"files not synced, trying again bucket=state-files error={reason}" in fleet.peel.log()


def test_a_tree_that_somebody_changed_on_the_bus_is_not_used_and_the_reason_is_reported(fleet, intruder):
    intruder.forge("state-files", "web.zy", FORGED)
    assert is_refused(fleet, "the signature of the manifest is not that of the account")
    assert said(fleet) == "one"
    intruder.delete("state-files", "_signature")
    intruder.announce("state-files")
    assert is_refused(fleet, "the tree is not signed")
    assert said(fleet) == "one"


def test_an_old_tree_with_its_good_signature_is_not_used_again_and_a_rollback_of_an_operator_is(fleet, intruder):
    old = intruder.copy("state-files", "web.zy")
    publish(fleet, "two")
    intruder.replay("state-files", old)
    assert is_refused(fleet, "revision")
    assert "was signed before" in fleet.peel.log()
    assert said(fleet) == "two"
    fleet.zester("fileserver", "update", "--force")
    first = min(row["revision"] for row in fleet.zester_json("fileserver", "history", "states"))
    fleet.zester("fileserver", "rollback", "states", first)
    fleet.wait(lambda: said(fleet) == "one", "the states are as they were")


def test_a_signature_of_one_tree_is_none_of_another(fleet, intruder):
    for key in RECORDS:
        intruder.put("state-files", key, intruder.get("settings-files", key))
    intruder.announce("state-files")
    assert is_refused(fleet, "the signature of the manifest is not that of the account")


def test_masters_do_not_believe_it_either(fleet, intruder):
    """Else one that takes over would publish it, with its own signature."""
    intruder.forge("state-files", "web.zy", FORGED)
    fleet.wait(lambda: fleet.two.has_logged("states is not in sync: the signature of the manifest"), "the standby refuses it")
    assert b"forged" not in (fleet.folder / "two/states/web.zy").read_bytes()
    intruder.forge("reactor-files", "reactor/top.zy", b"reactor: [{'*': [reactor.evil]}]\n")
    fleet.wait(lambda: all(any("the signature of the manifest is not that of the account" in line.get("msg", "") and "rules" in line.get("msg", "")
                               for line in master.lines()) for master in (fleet.one, fleet.two)), "masters keep their rules")


CANARY = ("_canary.manifest", "_canary.signature", "_canary")


def test_nobody_but_masters_makes_a_canary_and_one_that_has_ended_stays_so(fleet, intruder):
    fleet.zester("fileserver", "canary", "web-01")
    publish(fleet, "tried")
    file = f"_canary.file.{hashlib.sha256((fleet.folder / 'one/states/web.zy').read_bytes()).hexdigest()}"
    old = {key: intruder.get("state-files", key) for key in (file, *CANARY)}
    forged = {**old, file: FORGED, "_canary.manifest": pack({"files": [{"key": file, "path": "web.zy", "sha256": hashlib.sha256(FORGED).hexdigest()}]})}
    intruder.replay("state-files", forged)
    assert is_refused(fleet, "the signature of the manifest is not that of the account")
    intruder.delete("state-files", "_canary.signature")
    intruder.announce("state-files")
    assert is_refused(fleet, "the tree is not signed")
    assert said(fleet) == "tried"
    fleet.zester("fileserver", "update", "--force")
    fleet.wait(lambda: said(fleet) and fleet.peel.checks().get("files") == "ok", "the canary is what it was")
    fleet.zester("fileserver", "canary", "--abort")
    seen = next(fleet.peel.folder.rglob("signed/state-files._manifest"))
    fleet.wait(lambda: said(fleet) == "one" and seen.read_bytes() == intruder.get("state-files", "_signature"), "the peel has what all have")
    intruder.replay("state-files", old)
    assert is_refused(fleet, "the canary of revision")
    assert said(fleet) == "one"
    intruder.delete("state-files", "_canary")


def test_an_earlier_revision_that_somebody_changed_is_not_brought_back(fleet, intruder):
    publish(fleet, "three")
    revisions = [row["revision"] for row in fleet.zester_json("fileserver", "history", "states")]
    manifest = pack({"files": [{"key": "web.zy", "sha256": hashlib.sha256(FORGED).hexdigest()}]})
    intruder.put("tree-history", f"states.manifest.{min(revisions)}", manifest)
    intruder.put("tree-history", f"states.blob.{hashlib.sha256(FORGED).hexdigest()}", FORGED)
    result = fleet.zester("fileserver", "rollback", "states", min(revisions), status=1)
    assert "the signature of the manifest is not that of the account" in result.stderr
    assert said(fleet) == "three"
    publish(fleet, "one")


def test_the_account_of_a_machine_stays_what_it_was_at_its_enrollment(fleet):
    pinned = fleet.peel.folder / "auth/web-01.account"
    account = pinned.read_text()
    assert account.startswith("A")
    fleet.peel.stop()
    pinned.write_text("ACFVQ7QUNDXWTKEO2QIMGEYLWOPHQZ3D7FQJDXEHUNEZ4ZBZDVDNAOAL\n")
    fleet.peel.start()
    fleet.wait(lambda: fleet.peel.has_logged(f"the credentials are of the account '{account.strip()}', this machine belongs to"), "it refuses")
    pinned.write_text(account)
    fleet.wait_ready(fleet.peel)


def test_a_machine_that_enrolls_is_told_who_signs_and_who_seals(fleet, intruder):
    app = fleet.start_ready_peel("app-01", nats_ca=str(fleet.auth / "nats-ca.crt"))
    account, curve = (app.folder / "auth/app-01.account").read_text().split()
    assert account == (fleet.peel.folder / "auth/web-01.account").read_text().strip()
    assert curve == intruder.get("secrets", "_master_curve_pub").decode()
