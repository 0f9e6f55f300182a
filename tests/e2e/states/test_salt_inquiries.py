"""Functions of Salt that only read: each gives what Salt's gives, in state files and in pillar files, or is refused with a reason."""
import grp
import hashlib
import json
import os
import pwd
import stat

import pytest

from test_salt import SaltMachine

# The functions that Salt documents for these modules; the values of ANSWERS were compared with Salt 3007.
DOCUMENTED = {
    "config": """backup_mode dot_vals gather_bootstrap_script get items manage_mode merge option valid_fileproto""".split(),
    "cp": """cache_dest cache_dir cache_file cache_file_ssh cache_files cache_local_file cache_master envs get_dir get_file
        get_file_str get_template get_url hash_file hash_file_ssh is_cached list_master list_master_dirs list_master_symlinks
        list_minion list_states push push_dir recv recv_chunked stat_file""".split(),
    "file": """access append apply_template_on_contents basename blockreplace chattr check_file_meta check_hash check_managed
        check_managed_changes check_perms chgrp chown comment comment_line contains contains_glob contains_regex copy
        delete_backup directory_exists dirname diskusage extract_hash file_exists find get_devmm get_diff get_gid get_group
        get_hash get_managed get_mode get_selinux_context get_source_sum get_sum get_uid get_user gid_to_group grep group_to_gid
        is_blkdev is_chrdev is_fifo is_hardlink is_link join lchown line link list_backup list_backups list_backups_dir lsattr
        lstat makedirs makedirs_perms manage_file mkdir mknod mknod_blkdev mknod_chrdev mknod_fifo move normpath open_files
        pardir patch path_exists_glob prepend psed read readdir readlink remove remove_backup rename replace restore_backup
        restorecon rmdir search sed sed_contains seek_read seek_write set_mode set_selinux_context source_list stats statvfs
        symlink touch truncate uid_to_user uncomment user_to_uid write""".split(),
    "grains": """append delkey delval equals fetch filter_by get has_value item items ls remove set setval setvals""".split(),
    "hashutil": """base64_b64decode base64_b64encode base64_decodefile base64_decodestring base64_encodefile base64_encodestring digest
        digest_file github_signature hmac_compute hmac_signature md5_digest sha256_digest sha512_digest""".split(),
    "match": """compound data filter_by glob grain grain_pcre ifelse ipcidr list pcre pillar pillar_pcre search_by""".split(),
    "network": """active_tcp arp calc_net connect convert_cidr default_route dig fqdns get_bufsize get_fqdn get_hostname get_route hw_addr
        hwaddr ifacestartswith in_subnet interface interface_ip interfaces ip_addrs ip_addrs6 ip_in_subnet ip_neighs ip_neighs6
        ip_networks ip_networks6 ipaddrs ipaddrs6 iphexval ipneighs ipneighs6 is_loopback is_private mod_bufsize mod_hostname
        netstat ping reverse_ip routes subnets subnets6 traceroute wol""".split(),
    "pillar": """data ext fetch file_exists filter_by get item items keys ls obfuscate raw""".split(),
    "random": """get_str hash rand_int sample seed shadow_hash shuffle str_encode""".split(),
    "slsutil": """banner boolstr deserialize dir_exists file_exists findup merge merge_all path_exists renderer serialize update""".split(),
    "status": """all_status cpuinfo cpustats custom diskstats diskusage loadavg master meminfo netdev netstats nproc pid ping_master
        procs proxy_reconnect time uptime version vmstats w""".split(),
}
SUMS = "0123456789abcdef0123456789abcdef  other.tgz\nabcdef0123456789abcdef0123456789  foo.tgz\n"
MD5 = {"hsum": "abcdef0123456789abcdef0123456789", "hash_type": "md5"}
# F is a file with two lines, T the state tree, D a folder.
ANSWERS = {
    "salt['match.ifelse']('no*', 1, '*', 2, 3)": 2,
    "salt['match.ifelse']('no*', 1, 'nor-this', 2, 3)": 3,
    "salt['match.ifelse']('foo*', 'Foo!', 'bar*', 'Bar!', 'none', minion_id='bar03')": "Bar!",
    "salt['match.ifelse']('os_family:Debian', 'd', 'x', tgt_type='grain')": "d",
    "salt['match.ifelse'](false, 1, true, {'a': 1}, 2, merge={'b': 2})": {"a": 1, "b": 2},
    "salt['file.contains_glob']('F', '*cheese*')": True,
    "salt['file.contains_glob']('F', 'cheese')": False,
    "salt['file.contains_glob']('F', 'a cheese*')": True,
    "salt['file.contains_glob']('D/none', '*')": False,
    "salt['file.sed_contains']('F', 'ch+eese')": True,
    "salt['file.sed_contains']('F', 'CHEESE')": False,
    "salt['file.sed_contains']('F', 'CHEESE', flags='I')": True,
    "salt['file.sed_contains']('F', 'b$', limit='^c')": False,
    "salt['file.sed_contains']('D/none', 'x')": False,
    "salt['file.extract_hash']('D/sums', 'md5', '/tmp/foo.tgz')": MD5,
    "salt['file.extract_hash']('D/sums', 'md5', '/tmp/none.tgz')": {"hsum": "0123456789abcdef0123456789abcdef", "hash_type": "md5"},
    "salt['file.extract_hash']('D/sums', 'md5', '/tmp/x', source_hash_name='./foo.tgz')": MD5,
    "salt['file.extract_hash']('D/sums', 'sha256', '/tmp/foo.tgz')": None,
    "salt['file.get_source_sum']('/tmp/foo.tgz', source='http://x/foo.tgz', source_hash='D/sums')": MD5,
    "salt['file.get_source_sum']('/tmp/foo.tgz', source_hash='md5=abcdef0123456789abcdef0123456789')": MD5,
    "salt['file.get_source_sum']('/tmp/foo.tgz', source_hash='abcdef0123456789abcdef0123456789')": MD5,
    "salt['file.source_list']('salt://no', '', 'base')": ["salt://no", ""],
    "salt['file.source_list'](['salt://no', 'salt://src.txt'], '', 'base')": ["salt://src.txt", ""],
    "salt['file.source_list']([{'salt://src.txt': 'sha256=73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac'}], '', 'base')": ["salt://src.txt", "sha256=73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac"],
    "salt['file.check_managed_changes']('F', 'salt://tpl.txt', none, none, none, none, '0600', none, 'jinja', {'v': 1}, none, 'base')":
        {"diff": "--- \n+++ \n@@ -1,2 +1 @@\n-a cheese b\n-c\n+hello 1\n", "mode": "0600"},
    "salt['file.check_managed_changes']('F', 'salt://src.txt', none, none, 'daemon', 'OWN', '0644', none, none, none, none, 'base')":
        {"diff": "--- \n+++ \n@@ -1,2 +1 @@\n-a cheese b\n-c\n+x\n", "user": "daemon"},
    "salt['file.check_managed_changes']('D/none', contents='x')": {"newfile": "D/none"},
    "salt['file.check_managed']('F', mode='644')": [True, "The file F is in the correct state"],
    "salt['file.check_managed']('F', mode='600')": [None, "The following values are set to be changed:\nmode: 0600\n"],
    "salt['file.check_file_meta']('F', none, none, none, 'ME', 'OWN', '0600', none, 'base')": {"mode": "0600"},
    "salt['file.check_file_meta']('F', 'T/src.txt', none, none, 'daemon', 'OWN', '0644', none, 'base')":
        {"diff": "--- \n+++ \n@@ -1,2 +1 @@\n-a cheese b\n-c\n+x\n", "user": "daemon"},
    "salt['file.check_file_meta']('F', none, 'salt://src.txt', none, none, none, none, none, 'base', contents='a cheese b\\nc\\n')": {},
    "salt['file.check_file_meta']('D/none', none, none, none, 'ME', 'OWN', '0600', none, 'base', contents='q')": {"newfile": "D/none"},
    "salt['file.apply_template_on_contents']('This is a {{ template }} string.', 'jinja', {}, {'template': 'cool'}, 'base')": "This is a cool string.",
    "salt['file.get_diff']('F', 'salt://src.txt', show_filenames=false)": "--- \n+++ \n@@ -1,2 +1 @@\n-a cheese b\n-c\n+x\n",
    "salt['file.get_diff']('F', 'T/src.txt')": "--- F\n+++ T/src.txt\n@@ -1,2 +1 @@\n-a cheese b\n-c\n+x\n",
    "salt['file.get_diff']('F', 'salt://src.txt', show_changes=false)": "<show_changes=False>",
    "salt['file.get_diff']('F', 'F')": "",
    "salt['file.get_diff']('D/binary', 'F')": "Replace binary file with text file",
    "salt['file.get_selinux_context']('F')": "No selinux context information is available for F",
    "salt['file.list_backups_dir']('D')": {},
    "salt['file.list_backup']('F')": {},
    "salt['file.diskusage']('D/usage')": 1010,
    "salt['file.diskusage']('D/usage/big')": 1000,
    "salt['hashutil.base64_encodefile']('D/text')": "dm0K\n",
    "salt['cp.cache_dest']('salt://src.txt')": "T/src.txt",
    "salt['cp.list_master_symlinks']()": {"linked": "usage", "link.txt": "src.txt"},
    "salt['cp.cache_master']() | select('match', '.*txt') | unique | list": ["T/src.txt", "T/tpl.txt"],
    "salt['network.fqdns']() | list": ["fqdns"],
    "salt['network.fqdns']().fqdns == grains.fqdns": True,
    "salt['network.get_bufsize']('lo').result": False,
    "salt['network.ip_neighs']() == salt['network.ipneighs']()": True,
    "salt['network.ip_neighs6']() == salt['network.ipneighs6']()": True,
    "salt['pillar.data']() == salt['pillar.items']()": True,
}


@pytest.fixture
def machine(tmp_path):
    machine = SaltMachine(tmp_path)
    machine.root.mkdir(exist_ok=True)
    machine.file("src.txt", "x\n")
    machine.file("tpl.txt", "hello {{ v }}\n")
    machine.file("usage/a", "a")
    (machine.folder / "states/link.txt").symlink_to("src.txt")
    (machine.folder / "states/linked").symlink_to("usage")
    (machine.root / "file").write_text("a cheese b\nc\n")
    (machine.root / "file").chmod(0o644)
    (machine.root / "text").write_text("vm\n")
    (machine.root / "sums").write_text(SUMS)
    (machine.root / "binary").write_bytes(b"\0\1")
    usage = machine.root / "usage"
    usage.mkdir()
    (usage / "big").write_bytes(b"x" * 1000)
    os.link(usage / "big", usage / "same")
    (usage / "small").write_bytes(b"x" * 10)
    return machine


def place(machine, thing):
    """The same with the paths of this machine, and the names of who runs the test and of that user's group."""
    if isinstance(thing, str):
        words = {"'F'": f"'{machine.root}/file'", "D/": f"{machine.root}/", "'D'": f"'{machine.root}'", "T/": f"{machine.folder}/states/",
                 "'ME'": f"'{pwd.getpwuid(os.geteuid()).pw_name}'", "'OWN'": f"'{grp.getgrgid(os.getegid()).gr_name}'"}
        for word, path in words.items():
            thing = thing.replace(word, path)
        return thing
    if isinstance(thing, list):
        return [answer_of(machine, one) for one in thing]
    if isinstance(thing, dict):
        return {key: answer_of(machine, one) for key, one in thing.items()}
    return thing


def answer_of(machine, answer):
    if isinstance(answer, str):
        answer = place(machine, answer)
        return answer.replace("file F ", f"file {machine.root}/file ").replace("for F", f"for {machine.root}/file").replace("--- F\n", f"--- {machine.root}/file\n")
    return place(machine, answer)


def expressions(machine):
    return ["(%s)" % place(machine, expression) for expression in ANSWERS]


def check(found, machine):
    assert dict(zip(ANSWERS, found)) == {expression: answer_of(machine, answer) for expression, answer in ANSWERS.items()}


def test_functions_that_read_give_what_salts_give(machine):
    machine.sls("web", "x:\n  file.serialize:\n    - name: /x\n    - dataset: {{ [%s] | tojson }}\n" % ", ".join(expressions(machine)))
    shown = json.loads(machine.run("--format", "json", "state.show", "web", status=0).stdout)
    check(shown[0]["arguments"]["dataset"], machine)


def test_they_give_the_same_in_pillar_files(machine):
    machine.pillar(web="found: {{ [%s] | tojson }}\n" % ", ".join(expressions(machine)))
    check(json.loads(machine.run("--format", "json", "pillar.items", status=0).stdout)[0]["results"][0]["details"]["result"]["found"], machine)


def test_every_function_that_salt_documents_is_there_or_is_refused_with_a_reason(machine):
    names = [f"{module}.{function}" for module, functions in DOCUMENTED.items() for function in functions]
    machine.sls("web", "x:\n  file.serialize:\n    - name: /x\n    - dataset: {{ %s | reject('in', salt) | list | tojson }}\n" % json.dumps(names))
    missing = json.loads(machine.run("--format", "json", "state.show", "web", status=0).stdout)[0]["arguments"]["dataset"]
    unknown = []
    for name in missing:
        machine.sls("web", "x: {test.nop: [{comment: \"{{ salt['%s']() }}\"}]}" % name)
        said = machine.run("state.check", "web", status=1).stderr
        if f"'{name}' is not supported: " not in said and f"'{name}' is a state, not a function" not in said:
            unknown.append(name)
    assert unknown == []
    assert "'file.remove' is not supported: it removes files; use the state file.absent" in machine.run("file.remove", "/x", status=1).stderr


def test_a_pillar_file_knows_which_others_there_are(machine):
    machine.pillar(web="a: {{ [salt['pillar.file_exists']('web.sls'), salt['pillar.file_exists']('no.sls'), "
                       "salt['pillar.file_exists']('../states/src.txt')] | tojson }}\n")
    assert machine.run("pillar.get", "a", "--format", "json", status=0).stdout.count("true") >= 1
    found = json.loads(machine.run("--format", "json", "pillar.items", status=0).stdout)[0]["results"][0]["details"]["result"]["a"]
    assert found == [True, False, False]


def test_what_a_file_would_get_is_kept_in_a_copy(machine):
    machine.sls("web", "x:\n  file.serialize:\n    - name: /x\n    - dataset: {{ salt['file.get_managed']('/m', 'jinja', 'salt://tpl.txt', none, none, "
                       "'root', 'root', '0644', none, 'base', {'v': 1}, none) | tojson }}\n")
    path, digest, comment = json.loads(machine.run("--format", "json", "state.show", "web", status=0).stdout)[0]["arguments"]["dataset"]
    text = b"hello 1\n"
    assert (open(path, "rb").read(), digest, comment) == (text, {"hash_type": "sha256", "hsum": hashlib.sha256(text).hexdigest()}, "")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_files_of_the_machine_are_cached_and_listed(machine):
    call = lambda *words: json.loads(machine.run("--format", "json", *words, status=0).stdout)[0]["results"][0]["details"]["result"]
    copy = call("cp.cache_local_file", str(machine.root / "text"))
    assert open(copy).read() == "vm\n"
    assert copy in call("cp.list_minion") and str(machine.folder / "states/src.txt") in call("cp.list_minion")
    assert call("cp.cache_dest", "https://example.com/x") != call("cp.cache_dest", "https://example.com/y")


def test_backups_of_a_folder_are_listed_by_name(machine):
    machine.sls("web", "ROOT/file: {file.managed: [{contents: new}]}\nROOT/text: {file.managed: [{contents: new}]}\n")
    machine.run("state.apply", "web", status=0)
    found = json.loads(machine.run("--format", "json", "file.list_backups_dir", str(machine.root), status=0).stdout)[0]["results"][0]["details"]["result"]
    assert {name: [backup["Size"] for backup in backups.values()] for name, backups in found.items()} == {"file": [13], "text": [3]}


def test_open_files_are_listed_by_path_and_by_process(machine):
    call = lambda *words: json.loads(machine.run("--format", "json", "file.open_files", *words, status=0).stdout)[0]["results"][0]["details"]["result"]
    with open(machine.root / "text"):
        assert os.getpid() in call()[str(machine.root / "text")]
        mine = call("by_pid=True")[str(os.getpid())]
    assert str(machine.root / "text") in mine and os.readlink("/proc/self/exe") in mine


def test_the_hops_to_a_host_are_what_traceroute_shows(machine):
    tools = machine.folder / "tools"
    tools.mkdir()
    (tools / "traceroute").write_text("#!/bin/sh\n[ \"$1\" = 192.0.2.9 ] || exit 2\ncat <<E\ntraceroute to 192.0.2.9 (192.0.2.9), 30 hops max, 60 byte packets\n"
                                      " 1  gw (192.0.2.1)  0.512 ms  0.4 ms  0.3 ms\n 2  * * *\n 3  far (192.0.2.9)  1.5 ms *  2 ms\nE\n")
    (tools / "traceroute").chmod(0o755)
    done = machine.run("--format", "json", "network.traceroute", "192.0.2.9", status=0, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
    assert json.loads(done.stdout)[0]["results"][0]["details"]["result"] == [
        {"count": 1, "hostname": "gw", "ip": "192.0.2.1", "ms1": 0.512, "ms2": 0.4, "ms3": 0.3},
        {"count": 2, "hostname": "*"},
        {"count": 3, "hostname": "far", "ip": "192.0.2.9", "ms1": 1.5, "ms2": "*", "ms3": 2.0}]
