"""iptables with the real program, in a network namespace."""
import pytest

from machine import Machine, skip_without


class Network(Machine):
    NAMESPACES = "mn"


@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    skip_without("iptables", "ip6tables")
    machine = Network(tmp_path)
    if machine.sh("iptables -S && ip6tables -S", check=False).returncode != 0:
        machine.leave()
        pytest.skip("the kernel has no tables for iptables")
    yield machine
    machine.leave()


def rules(machine, chain="INPUT", program="iptables", table="filter"):
    return [line for line in machine.run(program, "-t", table, "-S", chain).splitlines() if line.startswith("-A")]


# What Salt's documentation shows, and the rule that iptables has then.
@pytest.mark.parametrize("args, wanted", [
    ("{chain: INPUT}, {jump: ACCEPT}, {match: state}, {connstate: NEW}, {dport: 80}, {protocol: tcp}, {sport: 1025:65535}",
     "-A INPUT -p tcp -m state --state NEW -m tcp --sport 1025:65535 --dport 80 -j ACCEPT"),
    ("{chain: INPUT}, {jump: ACCEPT}, {match: [state, comment]}, {comment: Allow HTTP}, {connstate: [NEW, ESTABLISHED]}, {source: 'not 127.0.0.1'}, {proto: tcp}",
     "-A INPUT ! -s 127.0.0.1/32 -p tcp -m state --state NEW,ESTABLISHED -m comment --comment \"Allow HTTP\" -j ACCEPT"),
    ("{chain: INPUT}, {jump: ACCEPT}, {protocol: tcp}, {dports: [80, 443]}", "-A INPUT -p tcp -m multiport --dports 80,443 -j ACCEPT"),
    ("{chain: INPUT}, {jump: REJECT}, {protocol: tcp}, {tcp-flags: 'SYN,RST SYN'}, {reject-with: tcp-reset}, {if: eth0}",
     "-A INPUT -i eth0 -p tcp -m tcp --tcp-flags SYN,RST SYN -j REJECT --reject-with tcp-reset"),
    ("{chain: INPUT}, {jump: LOG}, {match: limit}, {limit: 5/min}, {log-prefix: 'in: '}, {log-uid: ''}, {syn: true}, {p: tcp}",
     "-A INPUT -p tcp -m limit --limit 5/min -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j LOG --log-prefix \"in: \" --log-uid"),
])
def test_parameters_become_a_rule(machine, args, wanted):
    machine.settles(f"it:\n  iptables.append: [{{name: x}}, {args}]\n")
    assert rules(machine) == [wanted]
    machine.revert()
    assert rules(machine) == []


def test_a_rule_is_inserted_where_it_is_asked_for(machine):
    machine.sh("for port in 1 2 3; do iptables -A INPUT -p tcp --dport $port -j ACCEPT; done")
    for position, at in ((2, 1), (-1, 3)):
        machine.settles(f"it:\n  iptables.insert: [{{name: x}}, {{position: {position}}}, {{chain: INPUT}}, {{source: 192.0.2.{10 + at}}}, {{jump: DROP}}]\n")
        assert f"192.0.2.{10 + at}/32" in rules(machine)[at]
    machine.revert()
    machine.revert()
    assert len(rules(machine)) == 3


def test_the_address_of_the_other_family_and_tables(machine):
    machine.settles("it:\n  iptables.append: [{name: x}, {table: nat}, {family: ipv6}, {chain: PREROUTING}, {protocol: tcp}, {dport: 80}, {jump: REDIRECT}, {to-ports: 8080}]\n")
    assert rules(machine, "PREROUTING", "ip6tables", "nat") == ["-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 8080"]
    assert rules(machine, "PREROUTING", "iptables", "nat") == []


def test_rules_are_saved_once_and_again_when_the_file_is_another(machine):
    text = "it:\n  iptables.append: [{name: x}, {chain: INPUT}, {jump: DROP}, {source: 192.0.2.1}, {save: /etc/rules/v4}]\n"
    machine.settles(text)
    saved = machine.path("/etc/rules/v4").read_text()
    assert "*filter\n:INPUT ACCEPT [0:0]\n" in saved and "-A INPUT -s 192.0.2.1/32 -j DROP\n" in saved and "#" not in saved
    machine.path("/etc/rules/v4").write_text("*filter\nCOMMIT\n")
    machine.settles(text)
    assert machine.path("/etc/rules/v4").read_text() == saved
    machine.sh("iptables -F; iptables-restore /etc/rules/v4")
    assert rules(machine) == ["-A INPUT -s 192.0.2.1/32 -j DROP"]


def test_a_deleted_rule_returns_to_its_place_beside_new_ones(machine):
    machine.sh("for port in 1 2 3; do iptables -A INPUT -p tcp --dport $port -j ACCEPT; done")
    before = rules(machine)
    machine.settles("it:\n  iptables.delete: [{name: x}, {chain: INPUT}, {protocol: tcp}, {dport: 2}, {jump: ACCEPT}]\n")
    machine.sh("iptables -A INPUT -j DROP")
    machine.revert()
    assert rules(machine) == [*before, "-A INPUT -j DROP"]
    assert machine.apply("it:\n  iptables.delete: [{name: x}, {chain: INPUT}, {position: 1}]\n")["iptables.delete:it"]["changed"]
    assert rules(machine) == [*before[1:], "-A INPUT -j DROP"]


def test_a_chain_that_is_used_stays_with_its_rules(machine):
    machine.sh("iptables -N used; iptables -A used -j DROP; iptables -A INPUT -j used")
    assert machine.apply("it:\n  iptables.chain_absent: [{name: used}]\n")["iptables.chain_absent:it"]["failed"]
    assert rules(machine, "used") == ["-A used -j DROP"]


def test_what_iptables_refuses_is_an_error_and_misspelt_options_are_mistakes(machine):
    state = machine.apply("it:\n  iptables.append: [{name: x}, {chain: INPUT}, {dport: 80}, {jump: ACCEPT}]\n")["iptables.append:it"]
    assert state["failed"] and "dport" in state["text"]
    said = machine.mistakes("""
a: {iptables.append: [{name: x}, {chain: INPUT}, {dprot: 80}]}
b: {iptables.append: [{name: x}, {chain: "-F"}]}
c: {iptables.append: [{name: x}, {chain: INPUT}, {source: "--jump"}]}
d: {iptables.append: [{name: x}, {chain: INPUT}, {save: relative}]}
e: {iptables.set_policy: [{name: x}, {chain: INPUT}, {policy: REJECT}]}
f: {iptables.append: [{name: x}, {chain: INPUT}, {source: [a]}]}
""")
    for words in ("did you mean 'dport'", "'chain'", "'source' must not begin with a dash", "'save' must be true, false or an absolute path",
                  "'policy' must be ACCEPT or DROP", "'source' must be text"):
        assert words in said, said
    (machine.states / "salt.sls").write_text("a:\n  iptables.append:\n    - chain: INPUT\n    - dprot: 80\n")
    results, _ = machine.zester("state.apply", "salt")
    assert "dprot" in results[0]["results"][0]["error"] and rules(machine) == []
