#!/usr/bin/python3
"""check-format: the layout of every C file is what clang-format makes of it."""
import concurrent.futures
import re
import subprocess

from csource import Problem, main

BATCH = 20  # files for one clang-format
JOBS = 2


def check_batch(tree, paths):
    result = subprocess.run(["clang-format", "--dry-run", "--Werror", *paths], cwd=tree.root, text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    first = {}
    for path, line in re.findall(r"^([^:\n]+):(\d+):\d+: error:", result.stderr, re.M):
        first.setdefault(path, int(line))
    if result.returncode != 0 and not first:
        return [Problem(paths[0], 1, f"clang-format: {result.stderr.strip()}")]
    return [Problem(path, line, f"not the layout of .clang-format; run: clang-format -i {path}")
            for path, line in first.items()]


def check(tree):
    paths = [source.path for source in tree.sources]
    batches = [paths[at:at + BATCH] for at in range(0, len(paths), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        found = pool.map(lambda batch: check_batch(tree, batch), batches)
    return [problem for problems in found for problem in problems]


if __name__ == "__main__":
    main(check)
