"""Functions and filters in templates of .sls files give what Salt's give; the same templates in .zy files keep our shapes."""
import json

import pytest

from test_salt import SaltMachine

# What an expression gives in an .sls file; each was compared with Salt 3007.
ANSWERS = {
    "salt['cmd.run']('echo out; echo bad >&2; exit 3', python_shell=True)": "out\nbad",
    "salt['cmd.shell']('exit 3')": "",
    "salt['cmd.run'](['echo', \"it's\", 'a b'])": "it's a b",
    "salt['cmd.run']('pwd', '/etc')": "/etc",
    "salt['cmd.run_stdout']('echo out; echo bad >&2; false', python_shell=True)": "out",
    "salt['cmd.run_stderr']('echo out; echo bad >&2; false', python_shell=True)": "bad",
    "salt['pkg.version']('no-such-package')": "",
    "salt['pkg.version']('no-such-package', 'nor-this')": {"no-such-package": "", "nor-this": ""},
    "salt['disk.usage']()['/'].keys() | sort": ["1K-blocks", "available", "capacity", "filesystem", "used"],
    "salt['pillar.item']('a:b', 'z')": {"a:b": 1, "z": ""},
    "salt['pillar.item']('z', default=0)": {"z": 0},
    "salt['pillar.items']('a')": {"a": {"b": 1, "c": ["x", None, True]}},
    "salt['pillar.items']() | list": ["a", "mysql.user", "zed"],
    "salt['pillar.keys']('a')": ["b", "c"],
    "salt['pillar.raw']('a').b": 1,
    "salt['pillar.raw']('a:b')": {},
    "salt['pillar.fetch']('a:b')": 1,
    "salt['pillar.ls']()": ["a", "mysql.user", "zed"],
    "salt['pillar.obfuscate']('a')": {"a": {"b": "<int>", "c": ["<str>", "<NoneType>", "<bool>"]}},
    "salt['grains.has_value']('os_family')": True,
    "salt['grains.has_value']('no:such')": False,
    "salt['grains.equals']('os_family', 'Debian')": True,
    "salt['grains.equals']('no', '')": True,
    "salt['grains.equals']('no', 'x')": False,
    "'os_family' in salt['grains.ls']()": True,
    "salt['grains.fetch']('os_family')": "Debian",
    "salt['environ.has_value']('PATH')": True,
    "salt['environ.has_value']('PATH', 'x')": False,
    "salt['environ.has_value']('NO_SUCH_VARIABLE')": False,
    "salt['environ.item'](['NO_SUCH_VARIABLE'], 'd')": {"NO_SUCH_VARIABLE": "d"},
    "salt['environ.item']('PATH') | list": ["PATH"],
    "'root' in salt['user.list_groups']('root')": True,
    "salt['user.list_groups']('no-such-user')": [],
    "salt['file.join']('/a', 'b', 'c')": "/a/b/c",
    "salt['config.merge']('a').b": 1,
    "salt['config.valid_fileproto']('salt://x')": True,
    "salt['config.valid_fileproto']('/x')": False,
    "salt['config.backup_mode']('minion')": "minion",
    "salt['config.manage_mode'](644)": "0644",
    "salt['config.manage_mode']('1777')": "1777",
    "salt['defaults.deepcopy']({'a': [1]})": {"a": [1]},
    "salt['saltutil.is_running']('state.apply')": [],
    "salt['slsutil.renderer'](string='a: {{ q }}', context={'q': 3})": {"a": 3},
    "salt['slsutil.serialize']('toml', {'a': {'b': 'x'}})": '[a]\nb = "x"\n',
    "'<key>a</key>' in salt['slsutil.serialize']('plist', {'a': 1})": True,
    "salt['slsutil.merge']({'a': [1]}, {'a': [2]}, strategy='aggregate')": {"a": [2]},
    "{'b': [[1, 2], {'x': [3]}], 'a': {'c': ['x']}} | yaml(False)": "a:\n  c:\n  - x\nb:\n- - 1\n  - 2\n- x:\n  - 3",
    "{'s': 'two\\nlines', 'e': [], 'f': {}} | yaml(False)": "e: []\nf: {}\ns: 'two\n\n  lines'",
    "'word' | yaml(False)": "word",
    "'word' | yaml_encode": '"word"',
    "5 | yaml_encode": "5",
    "{'z': 1, 'b': 'é'} | json": '{"b": "é", "z": 1}',
    "{'z': 1, 'b': 'é'} | json(sort_keys=False)": '{"z": 1, "b": "é"}',
    "{'z': 1, 'b': 'é'} | tojson": '{"z": 1, "b": "\\u00e9"}',
    "text": "one\ntwo Debian",
    "salt['sys.list_modules']('user', 'timez*')": ["timezone", "user"],
    "'pkg' in salt['sys.list_modules']()": True,
    "salt['pkg.version'] is defined": True,
    "salt.pkg is defined": True,
    "salt['no.such'] is defined": False,
    "salt['pkg.no_such'] is undefined": True,
    "salt.pk is defined": False,
    "salt['no.such'] | default('x')": "x",
    "salt['pkg.version_cmp']('1.0~rc1-1', '1.0-1')": -1,
    "salt['pkg.version_cmp']('1.10', '1.9')": 1,
    "salt['pkg.version_cmp']('1:1.0', '2.0')": 1,
    "salt['pkg.version_cmp']('1:1.0', '2.0', ignore_epoch=True)": -1,
    "salt['pkg.version_cmp']('1.0', '1.0')": 0,
    "salt['timezone.get_offset']() | regex_match('([+-]\\d{4})$') | length": 1,
    "salt['ini.get_option'](ini, 'two', 'key')": "the value",
    "salt['ini.get_option'](ini, 'two', 'none')": None,
    "salt['ini.get_option'](ini, 'three', 'key')": None,
    "salt['jinja.load_map']('map.jinja', 'mysql')": {"family": "Debian", "port": 3306},
    "salt['jinja.import_yaml']('data.yaml')": {"a": [1, "Debian"]},
    "salt['jinja.import_json']('data.json')": {"b": None},
    "salt['hashutil.base64_encodestring']('x' * 58)": "eHh4" * 19 + "\neA==\n",
    "salt['hashutil.base64_decodestring'](salt['hashutil.base64_encodestring']('x' * 58))": "x" * 58,
    "salt['file.stats']('/etc').keys() | sort": ["atime", "ctime", "gid", "group", "inode", "mode", "mtime", "size", "target", "type", "uid", "user"],
    "salt['status.uptime']().keys() | sort": ["days", "seconds", "since_iso", "since_t", "time", "users"],
    "salt['status.uptime']().since_iso | regex_match('(\\d+-\\d+-\\d+T\\d+:\\d+:\\d+)') | length": 1,
    "salt['user.info']('root').keys() | sort": ["fullname", "gid", "groups", "home", "homephone", "name", "other", "passwd", "roomnumber", "shell", "uid", "workphone"],
    "salt['group.info']('root').keys() | sort": ["gid", "members", "name", "passwd"],
    "salt['network.interface']('lo')[0]": {"address": "127.0.0.1", "netmask": "255.0.0.0", "broadcast": None, "label": "lo"},
    "'root' | get_uid": 0,
    "'no-such-user' | get_uid": None,
    "empty | is_empty": True,
    "ini | is_empty": False,
    "grains.kernelparams is list": True,
    "grains.transactional": False,
    "grains.fqdns is list and grains.gpus is list": True,
    "grains.num_gpus == grains.gpus | length": True,
    "salt['service.get_all']() is list": True,
    "salt['network.ip_networks']() == salt['network.subnets']()": True,
    # Maps of YAML files keep the order that was written down; those that a template made are sorted.
    "zed | yaml": "{aa: {b: 2, y: 1}, zz: 1}",
    "pillar.zed | yaml": "{zz: 1, aa: {y: 1, b: 2}}",
    "pillar.zed.copy() | yaml": "{zz: 1, aa: {y: 1, b: 2}}",
    "dict(pillar.zed) | yaml": "{aa: {y: 1, b: 2}, zz: 1}",
    "{'z': pillar.zed, 'a': 1} | yaml": "{a: 1, z: {zz: 1, aa: {y: 1, b: 2}}}",
    "imported | yaml": "{aa: {b: 2, y: 1}, zz: 1}",
    "'{zz: 1, aa: 2}' | load_yaml | yaml": "{aa: 2, zz: 1}",
    "salt['slsutil.renderer'](string='{zz: 1, aa: 2}') | yaml": "{zz: 1, aa: 2}",
    "salt['grains.filter_by']({'Debian': {'q': 1, 'b': 2}}, merge=pillar.zed) | yaml": "{aa: {y: 1, b: 2}, b: 2, q: 1, zz: 1}",
    "salt['pillar.get']('zed', {'q': {'z': 1, 'a': 2}}, merge=True) | yaml": "{aa: {y: 1, b: 2}, q: {a: 2, z: 1}, zz: 1}",
    "['it\\'s', 'a: b', '1e3', 'yes', 'x' * 60, 'y'] | yaml": "[it's, 'a: b', 1e3, 'yes', " + "x" * 60 + ",\n  y]",
}
# What differs from Salt, where these are an error, {}, other names, and there.
OURS = {
    "salt['file.join'](['/a', 'b'])": "/a/b",
    "salt['config.dot_vals']('mysql')": {"mysql.user": "root"},
    "salt['sys.list_functions']('timezone')": ["timezone.get_offset", "timezone.get_zone", "timezone.system"],
    "salt['pillar.file_exists'] is defined": False,
    "['saltpath', 'pythonexecutable'] | select('in', grains) | list": [],
}
SETTINGS = "a: {b: 1, c: [x, null, true]}\nmysql.user: root\nzed: {zz: 1, aa: {y: 1, b: 2}}\n"
VARIABLES = ("{% import_text 'text.txt' as text %}{% import_yaml 'order.yaml' as imported %}{% set zed = {'zz': 1, 'aa': {'y': 1, 'b': 2}} %}"
             "{% set ini = 'STATES/some.ini' %}{% set empty = 'STATES/empty' %}")


@pytest.fixture
def machine(tmp_path):
    machine = SaltMachine(tmp_path)
    machine.pillar(main=SETTINGS)
    machine.file("order.yaml", "zz: 1\naa: {y: 1, b: 2}\n")
    machine.file("map.jinja", "{% set mysql = {'family': grains.os_family, 'port': 3306} %}")
    machine.file("data.yaml", "a: [1, {{ grains.os_family }}]\n")
    machine.file("data.json", '{"b": null}')
    machine.file("empty", "")
    machine.file("some.ini", "[one]\nkey = 1\n[two]\nkey = the value\n")
    machine.file("text.txt", "one\ntwo {{ grains.os_family }}\n")
    return machine


def dataset(machine):
    return json.loads(machine.run("--format", "json", "state.show", "web", status=0).stdout)[0]["arguments"]["dataset"]


def evaluate(machine, answers):
    """A template that gives the values of these expressions, as JSON."""
    return VARIABLES.replace("STATES", str(machine.folder / "states")) + "{{ [%s] | tojson }}" % ", ".join(f"({expression})" for expression in answers)


def test_functions_and_filters_of_sls_files_give_what_salts_give(machine):
    answers = {**ANSWERS, **OURS}
    machine.sls("web", "x:\n  file.serialize:\n    - name: /x\n    - dataset: " + evaluate(machine, answers) + "\n")
    assert dict(zip(answers, dataset(machine))) == answers


def test_the_template_of_a_file_means_what_it_means_in_salt_whatever_its_name_is(machine):
    machine.file("some.conf", evaluate(machine, ANSWERS))
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - source: salt://some.conf\n    - template: jinja\n")
    machine.run("state.apply", "web", status=0)
    assert dict(zip(ANSWERS, json.loads(machine.read("x")))) == ANSWERS


def test_arguments_of_a_state_keep_their_order_in_its_template(machine):
    machine.file("some.conf", "{{ c | yaml }}\n{{ {'zz': 1, 'aa': 2} | yaml(False) }}\n")
    machine.sls("web", "ROOT/x:\n  file.managed:\n    - source: salt://some.conf\n    - template: jinja\n    - context: {c: {zz: 1, aa: {y: 1, b: 2}}}\n")
    machine.run("state.apply", "web", status=0)
    assert machine.read("x") == "{zz: 1, aa: {y: 1, b: 2}}\naa: 2\nzz: 1\n"


def test_the_same_functions_keep_their_shapes_in_our_files(machine):
    machine.state("web", "x: {file.serialize: [{path: /x, dataset: {{ [salt['cmd.run']('echo out; echo bad >&2'), salt['disk.usage']()[:10], "
                         "{'b': [1]} | yaml(False), 'word' | yaml_encode, {'z': 1, 'b': 2} | tojson, {'b': 'é'} | json] | tojson }}}]}")
    assert dataset(machine) == ["out", "Filesystem", "b:\n  - 1", "word", '{"b": 2, "z": 1}', '{"b": "\\u00e9"}']
    for call, words in (("cmd.run']('exit 3')", "exit status 3"), ("pkg.version']('no-such-package')", "not installed")):
        machine.state("web", "x: {test.nop: [{comment: \"{{ salt['%s }}\"}]}" % call)
        assert words in machine.run("state.check", "web", status=1).stderr


def test_a_program_that_is_not_there_is_an_error_in_both_languages(machine):
    for write in (machine.sls, machine.state):
        write("web", "x: {test.nop: [{comment: \"{{ salt['cmd.run']('no-such-program') }}\"}]}")
        assert "no-such-program" in machine.run("state.check", "web", status=1).stderr
        (machine.folder / "states/web.sls").unlink(missing_ok=True)


def test_a_service_is_running_or_not_in_words_or_as_a_truth(machine):
    for write, answer in ((machine.sls, "False"), (machine.state, "stopped")):
        write("web", "x: {file.managed: [{name: ROOT/x, contents: \"{{ salt['service.status']('no-such') }}\"}]}".replace("ROOT", str(machine.root)))
        done = machine.run("state.apply", "web")
        assert done.returncode == 0 and machine.read("x") == answer + "\n" or "no service manager" in done.stderr
        (machine.folder / "states/web.sls").unlink(missing_ok=True)


def test_what_is_not_there_is_excluded_without_a_word(machine):
    machine.sls("web", "exclude: [nothing, {sls: nobody}, {id: none}]\nx: {test.nop: []}")
    done = machine.run("state.apply", "web", status=0)
    assert done.stderr == ""


# Every filter that Salt 3007.1 adds to those of Jinja2.
FILTERS = """
append_dict_key_value avg base64_decode base64_encode check_whitelist_blacklist combinations combinations_with_replacement compare_dicts
compare_lists compress contains_whitespace date_format dict_to_sls_yaml_params difference dns_check exactly_n_true exactly_one_true
extend_dict_key_value file_hashsum filter_by_networks flatten from_entries gen_mac get_uid hmac hmac_compute http_query human_to_bytes
indent intersect ip_host ipaddr ipv4 ipv6 ipwrap is_bin_file is_empty is_hex is_ip is_ipv4 is_ipv6 is_iter is_list is_text_file json
json_decode_dict json_decode_list json_encode_dict json_encode_list json_query list_files load_json load_text load_yaml mac_str_to_bytes max
md5 method_call min mysql_to_dict network_hosts network_size path_join permutations product python quote rand_str random_hash random_sample
random_shuffle random_str regex_escape regex_match regex_replace regex_search sequence set_dict_key_value sha1 sha256 sha512 skip
sorted_ignorecase str_to_num strftime substring_in_list symmetric_difference to_bool to_bytes to_camelcase to_entries to_num to_snake_case
tojson traverse union unique update_dict_key_value uuid which xml yaml yaml_dquote yaml_encode yaml_squote zip zip_longest
""".split()


def test_every_filter_of_salt_is_there(machine):
    """Unknown filters are reported even in a macro that nobody calls."""
    machine.sls("web", "{% macro never(x) %}" + "".join("{{ x | %s }}" % name for name in FILTERS) + "{% endmacro %}\nx: {test.nop: []}")
    machine.run("state.apply", "web", status=0)
    machine.sls("web", "{% macro never(x) %}{{ x | nonesuch }}{% endmacro %}\nx: {test.nop: []}")
    assert "no filter named 'nonesuch'" in machine.run("state.apply", "web", status=1).stderr


def test_filters_that_salt_has_of_its_own_are_its(machine):
    """unique, min and max tell letters apart, and unique is a list that may hold maps."""
    text = "{{ ['a', 'A', 'a', {'x': 1}, {'x': 1}] | unique }} {{ ['b', 'C'] | min }} {{ ['b', 'C'] | max }}"
    machine.sls("web", 'ROOT/out: {file.managed: [contents: "%s"]}' % text)
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "['a', 'A', {'x': 1}] C b\n"


def test_a_moment_is_now_a_day_or_a_date_with_slashes(machine):
    text = ("{{ none | strftime == 'now' | strftime }} {{ '2002/12/25' | strftime('%y') }} {{ '1040814000' | strftime('%Y-%m-%d') }} "
            "{{ (('tomorrow' | strftime('%s') | int) - ('yesterday' | strftime('%s') | int)) // 3600 }} {{ none | strftime('%Y') | int > 2000 }}")
    machine.sls("web", 'ROOT/out: {file.managed: [contents: "%s"]}' % text)
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "True 02 2002-12-25 48 True\n"


def test_a_template_shows_its_context_and_a_profiled_part_is_rendered_in_place(machine):
    machine.sls("web", """{% profile as 'part ' ~ grains.os %}{% set x = 3 %}{% endprofile %}
ROOT/out: {file.managed: [contents: "{{ x }} {{ show_full_context().x }} {{ 'grains' in show_full_context() }} {{ show_full_context() | yaml | length > 100 }}"]}
""")
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "3 3 True True\n"
    machine.sls("web", "{% profile as nowhere %}{% endprofile %}")
    assert "web.sls:1:15: 'nowhere' is undefined" in machine.run("state.apply", "web", status=1).stderr


def test_what_slsutil_renders_means_what_it_means_in_salt_whatever_its_name_is(machine):
    machine.file("d/x.jinja", "{{ {'b': 1, 'a': [1]} | yaml(False) }}\n{{ tpldir }} {{ tplfile }} {{ salt['cmd.run']('false') }}|\n"
                              "{%- load_yaml as l %}[0755]{% endload %}{{ l }}")
    machine.sls("web", "ROOT/out: {file.managed: [contents: {{ salt['slsutil.renderer']('salt://d/x.jinja', default_renderer='jinja') | yaml_dquote }}]}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "a:\n- 1\nb: 1\n. x.jinja |[755]\n"


def test_defaults_complete_every_map_below_a_key(machine):
    machine.sls("web", """
{% set nodes = {'h1': {'i': 1, 'l': [1]}, 'h2': {'e': false}, 'h3': none} %}
{% do salt['defaults.update'](nodes, {'e': true, 'l': [2]}) %}
ROOT/out: {file.managed: [contents: {{ nodes | json | yaml_squote }}]}
""")
    machine.run("state.apply", "web", status=0)
    assert json.loads(machine.read("out")) == {"h1": {"e": True, "i": 1, "l": [2, 1]}, "h2": {"e": False, "l": [2]}, "h3": {"e": True, "l": [2]}}


def test_numbers_are_printed_as_numbers(machine):
    machine.sls("web", "ROOT/out: {file.managed: [contents: [1.10, 0x1F, 1_000, .5, 12:30:45, +5, null, 0644]]}\n"
                       "env: {cmd.run: [name: echo $X > ROOT/env, env: [{X: 1.10}]]}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "1.1\n31\n1000\n0.5\n45045\n5\nNone\n644\n" and machine.read("env") == "1.1\n"


def test_a_seed_gives_the_same_number_each_time(machine):
    machine.sls("web", "ROOT/out: {file.managed: [contents: \"{{ salt['random.seed'](1000, hash='x') == salt['random.seed'](1000, 'x') }} "
                       "{{ salt['random.seed'](1000, hash='x') == salt['random.seed'](1000, hash='y') }}\"]}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "True False\n"


def test_chance_has_the_length_that_is_asked_for(machine):
    machine.sls("web", "ROOT/out: {file.managed: [contents: \"{{ 8 | random_str | length }} {{ 0 | random_str | length }} {{ '00:50' | gen_mac | length }}\"]}")
    machine.run("state.apply", "web", status=0)
    assert machine.read("out") == "8 0 14\n"
    machine.sls("web", "x: {test.nop: [name: '{{ 70000 | random_str }}']}")
    assert "random_str expects a length of at most 65528" in machine.run("state.apply", "web", status=1).stderr
