"""policies - the same work, written for us and for each of the peers.

A Work is a list of items: files with a content, or commands that make a file. Each function below turns it
into the text that one program reads. Item 0 may be what all others wait for (`wide`), or each item may wait
for the one before it (`chain`).
"""
import dataclasses
import os

ROWS = 5  # as in driver_bare.c


@dataclasses.dataclass(frozen=True)
class Work:
    folder: str  # of the files that are made
    count: int
    commands: bool = False
    order: str = ""  # "chain", "wide"

    def path(self, number):
        return os.path.join(self.folder, f"f{number:05d}")

    def content(self, number):
        return "".join(f"line {row} of file {number}, as it should be\n" for row in range(ROWS))

    def command(self, number):
        return f"echo {number} > {self.path(number)}"

    def before(self, number):
        """The item that this one waits for, or None."""
        if number == 0 or not self.order:
            return None
        return number - 1 if self.order == "chain" else 0


def _each(work, file, command):
    return "".join((command if work.commands else file)(number) for number in range(work.count))


def _indent(text, width):
    return "".join(" " * width + line for line in text.splitlines(keepends=True))


def zester(work):
    def require(number):
        before = work.before(number)
        return "" if before is None else f"    - require:\n      - file: {work.path(before)}\n"

    def file(number):
        return (f"{work.path(number)}:\n  file.managed:\n    - mode: '0644'\n    - contents: |\n"
                f"{_indent(work.content(number), 8)}{require(number)}")

    def command(number):
        return f"make {number}:\n  cmd.run:\n    - name: {work.command(number)}\n    - creates: {work.path(number)}\n"

    return _each(work, file, command)


def zester_graph(states, requisites):
    """States that do nothing, each with requisites on earlier ones."""
    def targets(number):
        picked = {(number * 7 + step * 13) % number for step in range(requisites)} if number > requisites else range(number)
        return "".join(f"      - test: s{target}\n" for target in sorted(picked))

    return "".join(f"s{number}:\n  test.nop:\n" + (f"    - require:\n{targets(number)}" if number else "    - order: 0\n")
                   for number in range(states))


def shell(work):
    head = """want() {
    if [ -f "$1" ] && [ "$(cat "$1")" = "$2" ] && [ "$(stat -c '%a %u' "$1")" = "644 $(id -u)" ]; then return; fi
    printf '%s\\n' "$2" > "$1.new" && chmod 644 "$1.new" && mv "$1.new" "$1"
}
"""

    def file(number):
        return f"want {work.path(number)} '{work.content(number).rstrip()}'\n"

    def command(number):
        return f"[ -e {work.path(number)} ] || sh -c '{work.command(number)}'\n"

    return head + _each(work, file, command)


def cfengine(work):
    def depends(number):
        before = work.before(number)
        return "" if before is None else f", depends_on => {{ \"h{before}\" }}"

    def file(number):
        return (f"    \"{work.path(number)}\" handle => \"h{number}\", create => \"true\", perms => plain, "
                f"content => \"{work.content(number)}\"{depends(number)};\n")

    def command(number):
        return f"    \"{work.command(number)}\" contain => in_shell, if => not(fileexists(\"{work.path(number)}\"));\n"

    return ("body common control { bundlesequence => { \"work\" }; }\nbody perms plain { mode => \"0644\"; }\n"
            "body contain in_shell { useshell => \"useshell\"; }\nbundle agent work {\n"
            f"  {'commands' if work.commands else 'files'}:\n{_each(work, file, command)}}}\n")


def puppet(work):
    def require(number):
        before = work.before(number)
        return "" if before is None else f", require => File['{work.path(before)}']"

    def file(number):
        return f"file {{ '{work.path(number)}': mode => '0644', content => '{work.content(number)}'{require(number)} }}\n"

    def command(number):
        return (f"exec {{ 'make {number}': command => \"/bin/sh -c '{work.command(number)}'\", "
                f"creates => '{work.path(number)}' }}\n")

    return _each(work, file, command)


def ansible(work):
    """Tasks are run one after another, so every order is there already."""
    def file(number):
        return (f"    - copy:\n        dest: {work.path(number)}\n        mode: '0644'\n        content: |\n"
                f"{_indent(work.content(number), 10)}")

    def command(number):
        return f"    - shell:\n        cmd: {work.command(number)}\n        creates: {work.path(number)}\n"

    return f"- hosts: localhost\n  gather_facts: false\n  tasks:\n{_each(work, file, command)}"
