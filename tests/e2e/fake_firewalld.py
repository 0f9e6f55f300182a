"""A stand-in for firewall-cmd, since a firewall cannot be changed where tests run: it keeps the permanent configuration in a file, knows the
options that states use, and answers and exits as firewall-cmd 1.3 of Debian 12 does. The running configuration is what was there at the last
--reload."""
import sys

PROGRAM = f"#!{sys.executable}\n" + r'''
import json, pathlib, sys
store = pathlib.Path("STORE")
EMPTY = {"icmp-block": [], "port": [], "forward-port": [], "service": [], "interface": [], "source": [], "rich-rule": [], "masquerade": False}
LISTS = {"icmp-blocks": "icmp-block", "ports": "port", "forward-ports": "forward-port", "services": "service", "interfaces": "interface",
         "sources": "source", "rich-rules": "rich-rule"}


def fail(code, text):
    print("Error: " + text, file=sys.stderr)
    sys.exit(code)


def edit(things, word, value):
    if word.startswith("add"):
        if value in things:
            print("Warning: ALREADY_ENABLED: " + value, file=sys.stderr)
        else:
            things.append(value)
            things.sort()
    elif value in things:
        things.remove(value)
    else:
        print("Warning: NOT_ENABLED: " + value, file=sys.stderr)


def main(words):
    data = json.loads(store.read_text()) if store.exists() else {
        "zones": {"public": dict(EMPTY, service=["dhcpv6-client", "ssh"])}, "services": {}, "default": "public", "running": ["public"]}
    permanent, place = False, None
    for word in words:
        key, _, value = word[2:].partition("=")
        if key == "permanent":
            permanent = True
        elif key in ("zone", "service"):
            if value not in data[key + "s"]:
                fail(112 if key == "zone" else 101, f"INVALID_{key.upper()}: {value}")
            place = data[key + "s"][value]
        elif key == "reload":
            data["running"] = list(data["zones"])
        elif key == "get-default-zone":
            print(data["default"])
        elif key == "set-default-zone":
            if value not in data["running"]:
                fail(112, "INVALID_ZONE: " + value)
            data["default"] = value
        elif not permanent:
            fail(2, "only the permanent configuration is used")
        elif key in ("get-zones", "get-services"):
            print(*data[key[4:]])
        elif key in ("new-zone", "new-service"):
            data[key[4:] + "s"][value] = dict(json.loads(json.dumps(EMPTY))) if key == "new-zone" else {"port": [], "protocol": []}
        elif key in ("delete-zone", "delete-service"):
            del data[key[7:] + "s"][value]
        elif key.startswith("list-"):
            print(*place[LISTS[key[5:]]], sep="\n" if key[5:] in ("forward-ports", "rich-rules") else " ")
        elif key in ("get-ports", "get-protocols"):
            print(*place[key[4:-1]])
        elif key == "query-masquerade":
            print("yes" if place["masquerade"] else "no")
            sys.exit(0 if place["masquerade"] else 1)
        elif key.endswith("-masquerade"):
            place["masquerade"] = key.startswith("add")
        elif key.partition("-")[0] in ("add", "remove") and key.partition("-")[2] in place:
            edit(place[key.partition("-")[2]], key, value)
        else:
            fail(2, "unrecognized arguments: " + word)
    text = json.dumps(data, sort_keys=True)
    if not store.exists() or store.read_text() != text:
        store.write_text(text)
    if not any(word.startswith(("--list", "--get")) for word in words):
        print("success")


main(sys.argv[1:])
'''


def install(folder, store):
    """The folder for PATH that has it."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "firewall-cmd"
    program.write_text(PROGRAM.replace("STORE", str(store)))
    program.chmod(0o755)
    return folder
