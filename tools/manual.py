"""The manual pages: what people wrote in packaging/man, with what the programs know of themselves.

A page is mdoc. A line of its source that is one of these marks is replaced:

    @SYNOPSIS@   a line for each command of the table
    @OPTIONS@    the options that all commands have
    @COMMANDS@   each command: usage, purpose, options, examples, exit statuses of its own
    @STATUSES@   the exit statuses of the program
    @KEYS@       the options of a daemon, which are the keys of its configuration

The table is what `PROGRAM --command-table` prints (src/commands/cli/shared/catalog.h), and for daemons `PROGRAM --keys`, so a command is
in its page as soon as it is in its table.
"""
import json
import os
import re
import subprocess

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "packaging/man")
MARK = re.compile(r"^@([A-Z]+)@$", re.M)


def ask(program, word):
    return subprocess.run([program, word], stdout=subprocess.PIPE, text=True, check=True).stdout


# --- mdoc ----------------------------------------------------------------------------------------

def escape(text):
    """Text that means itself, wherever in a line it stands."""
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")


def word(text):
    """An argument of a macro that is never taken for a macro or a delimiter."""
    return '"\\&' + escape(text).replace('"', "\\(dq") + '"'


def line(text):
    """A line of text that is never taken for a request."""
    return "\\&" + escape(text) + "\n"


def literal(text):
    lines = text.rstrip("\n").split("\n")
    blanks = min((len(l) - len(l.lstrip()) for l in lines if l.strip()), default=0)
    return ".Bd -literal -offset indent\n" + "".join(line(l[blanks:]) for l in lines) + ".Ed\n"


def is_indented(text):
    return text.startswith(" ")


def blocks(text):
    """(is it indented, lines) of each run of lines; empty lines end one."""
    found = []
    for text_line in text.rstrip("\n").split("\n"):
        if not text_line:
            found.append(None)
        elif found and found[-1] and found[-1][0] == is_indented(text_line):
            found[-1][1].append(text_line)
        else:
            found.append((is_indented(text_line), [text_line]))
    return [block for block in found if block]


def prose(text):
    """Paragraphs as --help prints them; what is indented there keeps its lines."""
    return "".join(literal("\n".join(lines)) if kept else ".Pp\n" + "".join(map(line, lines)) for kept, lines in blocks(text))


def sentence(text):
    """With a capital, unless it begins with a name such as sha256:HEX."""
    head = text.split(" ", 1)[0].rstrip(",;:")
    return (text[:1].upper() if head.isalpha() else text[:1]) + text[1:] + ("" if text.endswith((".", ":")) else ".")


def tagged(items):
    """A list of (tag, text); nothing when it is empty."""
    lines = "".join(f".It Sy {tag}\n{line(sentence(text))}" for tag, text in items)
    return f".Bl -tag -width Ds\n{lines}.El\n" if lines else ""


# --- the tables ----------------------------------------------------------------------------------

def options(rows):
    return tagged((word(f"{row['names']} {row['value']}".rstrip()), row["text"]) for row in rows)


def statuses(text):
    """'0 done; 1 an error' as a list; other texts as they are."""
    parts = re.split(r"(?:^|; )(\d+) ", " ".join(text.split()))
    if parts[0]:
        return prose(text)
    return tagged(zip(map(word, parts[1::2]), parts[2::2]))


def usage(command, group, marked=True):
    """`job watch [OPTIONS] JID` as the rest of a line of the synopsis, or as a heading."""
    words = [group, command.get("name", "")]
    rest = [] if not command["runs"] else ["[OPTIONS]" if command.get("options") else "", command.get("operands", "")]
    if command.get("commands") and not command["runs"]:
        rest = ["COMMAND"]
    names, rest = " ".join(filter(None, words)), " ".join(filter(None, rest))
    if not marked:
        return escape(f"{names} {rest}".strip())
    return "\n".join(filter(None, [names and f".Cm {word(names)}", rest and f".Ar {word(rest)}"]))


def without_group(table):
    """Local mode and the fleet first."""
    return [table[key] for key in ("other", "fallback") if key in table] + table["commands"]


class Page:
    """What the marks of a page stand for."""

    def __init__(self, program):
        self.program = program
        self.name = os.path.basename(program)

    def table(self):
        return json.loads(ask(self.program, "--command-table"))

    def synopsis(self):
        table = self.table()
        return "".join(f".Nm\n{usage(command, '')}\n" for command in without_group(table))

    def options(self):
        return options(self.table().get("globals", []))

    def command(self, table, command, group):
        common = table.get("globals", [])
        own = [row for row in command.get("options", []) if row not in common]
        parts = [f".Ss {self.name} {usage(command, group, marked=False)}\n", line(sentence(command["summary"])),
                 prose(command["details"]) if "details" in command else "", ".Pp\n" if own else "", options(own)]
        if len(own) < len(command.get("options", [])):
            parts.append(".Pp\nThe options of all commands, too.\n")
        if "examples" in command:
            parts.append(literal(command["examples"]))
        if "statuses" in command:
            parts.append(f".Pp\nExit status:\n{statuses(command['statuses'])}")
        return "".join(parts)

    def commands(self):
        table, parts = self.table(), []
        for command in without_group(table):
            parts.append(self.command(table, command, ""))
            parts.extend(self.command(table, below, command["name"]) for below in command.get("commands", []))
        return "".join(parts)

    def statuses(self):
        return statuses(self.table()["statuses"])

    def keys(self):
        """Rows of '| `key` | `--flag` | kind | default | meaning |'."""
        items = []
        for row in ask(self.program, "--keys").splitlines()[2:]:
            key, flag, kind, default, meaning = [cell.strip().replace("`", "") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
            meaning = meaning if default == "-" else f"{meaning} ({default})"
            items.append((word(f"{flag} ({key}: {kind})"), meaning.replace("\\|", "|")))
        return tagged(items)


def page(source, build, version):
    """The text of the page packaging/man/`source`."""
    with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
        text = file.read()
    marks = Page(os.path.abspath(os.path.join(build, source.rsplit(".", 1)[0])))
    return MARK.sub(lambda mark: getattr(marks, mark[1].lower())().rstrip("\n"), text).replace("@VERSION@", version)


def names():
    return sorted(os.listdir(SOURCES))
