"""Commands that a master reads while it publishes."""
import signal
from concurrent.futures import ThreadPoolExecutor

from bus import Bus
from packing import pack


def run_during_a_round(fleet, leader, *words, force=False):
    """The answer to a command about published files; the master that publishes reads it while it does so for somebody else."""
    subject = f"zester.admin.fileserver.{'rollback' if words[0] == 'rollback' else 'canary'}"
    update = pack({"force": force})
    with Bus(fleet.port, fleet.auth / "nats-ca.crt", fleet.auth / "master.creds") as bus, ThreadPoolExecutor(1) as pool:
        bus.send(f"SUB {subject} 1\r\n".encode())
        leader.send(signal.SIGSTOP)
        try:
            bus.send(f"PUB zester.admin.fileserver.update {bus.inbox}.update {len(update)}\r\n".encode() + update + b"\r\n")
            bus.flush()
            answer = pool.submit(fleet.zester_json, "fileserver", *words)
            bus.read()  # the command
        finally:
            leader.send(signal.SIGCONT)
        return answer.result()
