"""A registry for npm with two versions of the package zt, on loopback."""
import contextlib
import functools
import http.server
import io
import json
import tarfile
import threading


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def pack(folder, version):
    text = json.dumps({"name": "zt", "version": version}).encode()
    with tarfile.open(folder / f"zt-{version}.tgz", "w:gz") as archive:
        info = tarfile.TarInfo("package/package.json")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))


@contextlib.contextmanager
def registry(folder):
    """Its address."""
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        versions = {}
        for version in ("1.0.0", "2.0.0"):
            pack(folder, version)
            versions[version] = {"name": "zt", "version": version, "dist": {"tarball": f"{address}zt-{version}.tgz"}}
        (folder / "zt").write_text(json.dumps({"name": "zt", "dist-tags": {"latest": "2.0.0"}, "versions": versions}))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield address
        finally:
            server.shutdown()
