"""Random states, failures, retries and kills: in the end every reaction has seen the last change, and none came without one.

`make test` takes a sample of the scenes, `make faults` (FAULTS=all) many more."""
import json
import os
import random
import subprocess
import time

import pytest

from test_states import Machine

SCENES = 150 if os.environ.get("FAULTS") == "all" else 5
FILES = ("web", "db")  # with states of the same names
ROUNDS = 10
SOURCES = {
    "managed": "{id}: {{file.managed: [{{name: {path}}}, {{contents: v{version}}}, {{makedirs: true}}]}}\n",
    "append": """{id}:
  file.append:
    - name: {path}
    - text: v{version}
    - makedirs: true
    - check_cmd: 'echo . >> {path}.tries; test $(wc -l < {path}.tries) -gt $(cat {path}.fails)'
    - retry: {{attempts: 1, interval: 0}}
""",
}
REACTION = """{id}:
  cmd.run:
    - name: 'test ! -e {root}/{file}.{id}.broken && cat {paths} | xargs echo >> {root}/{file}.{id}.log'
"""


class Scene:
    def __init__(self, folder, seed):
        self.machine, self.random = Machine(folder), random.Random(seed)
        self.root = self.machine.root
        self.files = {file: self.invent() for file in FILES}
        self.killed = False

    def invent(self):
        sources = {f"s{i}": [self.random.choice(list(SOURCES)), 1] for i in range(self.random.randint(2, 4))}
        return sources, {f"r{i}": self.invent_reaction(list(sources)) for i in range(self.random.randint(2, 4))}

    def invent_reaction(self, sources):
        self.random.shuffle(sources)
        cut = self.random.randint(1, 2)
        requisites = {self.random.choice(["onchanges", "onchanges_any"]): sources[:cut], "require": sources[cut:][:self.random.randint(0, 2)]}
        if self.random.random() < 0.3:
            requisites["watch"] = sources[cut:][:1]
        return {kind: targets for kind, targets in requisites.items() if targets}

    def path(self, file, source):
        return self.root / f"{file}.{source}" / "content"

    def seen_by(self, requisites):
        return requisites.get("onchanges") or requisites["onchanges_any"]

    def write(self):
        for file, (sources, reactions) in self.files.items():
            text = "".join(SOURCES[kind].format(id=name, path=self.path(file, name), version=version) for name, (kind, version) in sources.items())
            for name, requisites in reactions.items():
                paths = " ".join(str(self.path(file, source)) for source in self.seen_by(requisites))
                text += REACTION.format(id=name, root=self.root, file=file, paths=paths)
                text += "".join(f"    - {kind}: [{', '.join(f'{{file: {target}}}' for target in targets)}]\n" for kind, targets in requisites.items())
            self.machine.state(file, text)

    def arrange(self, well):
        """Where a source is blocked it fails before it changes anything; where its check fails, after that."""
        for file, (sources, reactions) in self.files.items():
            for name, (kind, _) in sources.items():
                folder = self.path(file, name).parent
                if folder.is_file() and (well or self.random.random() < 0.5):
                    folder.unlink()
                elif not well and not folder.exists() and self.random.random() < 0.3:
                    folder.write_text("in the way")
                if kind == "append" and not folder.is_file():
                    folder.mkdir(exist_ok=True)
                    (folder / "content.tries").write_text("")
                    (folder / "content.fails").write_text("0" if well else str(self.random.randint(0, 2)))
            for name in reactions:
                broken = self.root / f"{file}.{name}.broken"
                broken.unlink(missing_ok=True)
                if not well and self.random.random() < 0.4:
                    broken.write_text("")

    def run(self):
        words = self.machine.command("state.apply", self.random.choice(FILES))
        if self.random.random() < 0.35:
            run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(self.random.random() * 0.2)  # any moment will do
            run.kill()
            self.killed |= run.wait() != 0
        else:
            assert subprocess.run(words, capture_output=True, timeout=120, check=False).returncode in (0, 2)

    def log(self, file, name):
        path = self.root / f"{file}.{name}.log"
        return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("seed", range(SCENES))
def test_no_reaction_is_lost_and_none_comes_without_a_change(tmp_path, seed):
    scene = Scene(tmp_path, seed)
    for _ in range(ROUNDS):
        for sources, _ in scene.files.values():
            for source in sources.values():
                source[1] += scene.random.random() < 0.4
        scene.write()
        scene.arrange(well=False)
        scene.run()
    scene.write()
    scene.arrange(well=True)
    for file, (_, reactions) in scene.files.items():
        scene.machine.run("state.apply", file, status=0)
        logs = {name: scene.log(file, name) for name in reactions}
        assert scene.machine.record("state.apply", file, status=0)["summary"]["changed"] == 0
        for name, requisites in reactions.items():
            now = " ".join(" ".join(scene.path(file, source).read_text().split()) for source in scene.seen_by(requisites))
            assert logs[name][-1:] == [now], f"{file} {name}: the last change was missed"
            if not scene.killed:  # a reaction that was killed at its end happens again
                assert all(one != next_one for one, next_one in zip(logs[name], logs[name][1:])), f"{file} {name}: without a change"
    assert json.loads(scene.machine.run("state.owed", "--format", "json", status=0).stdout) == []
