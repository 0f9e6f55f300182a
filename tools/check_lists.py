#!/usr/bin/python3
"""check-lists: what users write as one of a list of words is in one table.

A word of such a list that is repeated elsewhere, or several of them in one text, is a second list: it
will not know the word that is added next. The table offers a function that prints or finds them.
"""
import dataclasses
import re

from csource import Problem, main


@dataclasses.dataclass(frozen=True)
class List:
    noun: str
    table: str  # its file, or the folder whose files are the table
    pattern: str  # finds the words in it
    folders: tuple = ()  # where the word alone means that; none: all of src/
    several: int = 0  # so many of them in one text are a list; 0: words of everyday language


LISTS = (
    List("requisite", "src/states/compile/requisite.c", r'\bBOTH\("(\w+)"', ("states/compile", "states/run", "commands/cli"), 3),
    List("condition", "src/kepler/config/condition.c", r'\.name = "(\w+)"', (), 3),
    List("request", "src/kepler/control/request.c", r'\[REQUEST_\w+\]\s*= \{ "(\w+)"', ("kepler/control",)),
    List("package manager", "src/states/provider/package", r"^const struct package_manager package_manager_(\w+) = {", (), 3),
)
COMMAND = re.compile(r"\.name = $")
TEXT = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def words_of(tree, entry):
    """The words of a table; none where the tree has no such table."""
    texts = [source.text for source in tree.sources if source.path.startswith(entry.table)]
    return {word for text in texts for word in re.findall(entry.pattern, text, re.M)}


def texts_of(source):
    """(line, text) of each string literal; adjacent ones are one text."""
    joined = []
    for match in TEXT.finditer(source.text):
        if source.code[match.start()] != '"' or COMMAND.search(source.code, 0, match.start()) and source.folder.startswith("commands/cli"):
            continue  # in a comment, or the name of a command
        line = source.text.count("\n", 0, match.start()) + 1
        if joined and not source.code[joined[-1][2]:match.start()].strip():
            joined[-1] = (joined[-1][0], joined[-1][1] + match.group(1), match.end())
        else:
            joined.append((line, match.group(1), match.end()))
    return [(line, text) for line, text, _ in joined]


def is_command(source, number):
    """A command may be called like anything: .name = "watch" of a table."""
    return source.folder.startswith("commands/cli") and source.text.split("\n")[number - 1].strip().startswith(".name = ")


def check_source(source, entry, words, problems):
    alone = not entry.folders or source.folder.startswith(entry.folders)
    for number, text in texts_of(source):
        named = words & set(re.findall(r"\w+", text))
        if text in words and alone and not is_command(source, number):
            problems.append(Problem(source.path, number, f"'{text}' is the name of a {entry.noun}; ask the table in {entry.table}"))
        elif entry.several and len(named) >= entry.several:
            text = f"a list of {entry.noun}s ({', '.join(sorted(named))}); let the table in {entry.table} print it"
            problems.append(Problem(source.path, number, text))


def check(tree):
    problems = []
    for entry in LISTS:
        words = words_of(tree, entry)
        for source in tree.sources:
            if words and source.folder and not source.path.startswith(entry.table):
                check_source(source, entry, words, problems)
    return problems


if __name__ == "__main__":
    main(check)
