"""Start-up: a program that has nothing to do, against one that does nothing"""
from frame import Line


def lines(bench):
    ours = bench.measure([bench.program("zester"), "--version"])
    yield Line("zester --version", ours, "true", bench.measure([bench.peer("true")]))
