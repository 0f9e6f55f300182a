"""Random cases for kepler_play.py, and smaller ones like a given case."""
import copy

from kepler_model import BLOCKED_BY, NEEDS_HEALTH, UP, Model, Service

NAMES = "abcdef"
PHASES = ["pre_start", "post_start", "pre_stop", "post_stop", "pre_restart", "post_restart", "post_exit"]
HEALTH_PHASES = ["post_healthcheck_success", "post_healthcheck_fail"]
CONDITIONS = {"service_started": 5, "service_healthy": 4, "service_completed_successfully": 2, "service_unhealthy": 2,
              "service_failed": 3, "service_stopped": 2}
POLICIES = ["no"] * 3 + ["always"] * 5 + ["on-failure"] * 2 + ["on-success", "on-failure|on-success", "on-unhealthy"]
CODES = [[1], ["2:3"], [0], [1, "5:10"]]
ENDS = ["0", "0", "1", "1", "2", "3", "7", "KILL", "KILL", "HUP"]
RARELY = 0.1  # of what is allowed, and skips the service at once


def draw_condition(chance, target):
    """One that can be met, mostly."""
    target = Service("target", target)
    weights = {}
    for condition, weight in CONDITIONS.items():
        hopeless = (condition in NEEDS_HEALTH and not target.checked) or BLOCKED_BY.get(condition, {"never"}) <= target.flags
        weights[condition] = weight * (RARELY if hopeless else 1)
    return chance.choices(list(weights), list(weights.values()))[0]


def draw_edge(chance, target, may_expire):
    keys = {"condition": draw_condition(chance, target)}
    # Whoever waits for bad health of what restarts for it would be a start and a restart at the same moment.
    hasty = keys["condition"] == "service_unhealthy" and "on-unhealthy" in Service("target", target).flags
    if chance.random() < 0.6 and not hasty:
        keys["restart"] = True
    if keys["condition"] in ("service_failed", "service_stopped") and chance.random() < 0.4:
        keys["exit_code"] = chance.choice(CODES)
    if chance.random() < 0.15:
        keys["allow_skipped"] = True
    if chance.random() < 0.15:
        keys["required"] = False
    if may_expire and chance.random() < 0.1:
        keys["timeout"] = "500ms"
    return keys


def draw_service(chance, name, earlier, may_expire):
    keys = {"command": ["./serve", name] + (["polite"] if chance.random() < 0.5 else [])}
    policy = chance.choice(POLICIES)
    keys["restart"] = {"policy": policy, "delay": "1h"} if policy != "no" and chance.random() < 0.12 else policy
    if chance.random() < 0.05:
        keys["if"] = False
    if chance.random() < 0.55:
        keys["healthcheck"] = {"command": ["./check", name], "interval": "50ms", "retries": 1}
    phases = [phase for phase in PHASES + HEALTH_PHASES * ("healthcheck" in keys) if chance.random() < 0.15]
    if phases:
        keys["hooks"] = {phase: {"command": ["./hook", name, phase]} for phase in phases}
    edges = {}
    for target, target_keys in earlier.items():
        if chance.random() < 0.5:
            edges[target] = draw_edge(chance, target_keys, may_expire and not any("timeout" in edge for edge in edges.values()))
    if edges:
        keys["depends_on"] = edges
    return keys


def has_timeout(case):
    return any("timeout" in edge for keys in case["services"].values() for edge in keys.get("depends_on", {}).values())


def draw_config(chance):
    case = {"x-events": []}
    if chance.random() < 0.5:
        case["kepler"] = {"autostart": {"environment": ["PATH", "MARK"]}}
    case["services"] = {}
    for name in NAMES[:chance.randint(1, 5)]:
        case["services"][name] = draw_service(chance, name, case["services"], not has_timeout(case))
    return case


def draw_names(chance, names):
    return " ".join(chance.sample(names, chance.randint(1, min(3, len(names)))))


def draw_end(chance, names):
    return "end " + " ".join(f"{name}={chance.choice(ENDS)}" for name in names)


def draw_trouble(chance, model, toggle, names):
    """A file is there, and then the service ends or restarts."""
    name = chance.choice(names)
    return [f"{toggle} {name}", chance.choice([draw_end(chance, [name]), draw_end(chance, [name]), f"restart {name}"])]


def draw_events(chance, model):
    """One or two that mean something now, mostly."""
    names = list(model.services)
    up = [name for name, service in model.services.items() if service.status in UP]
    hooked = [name for name in up if "post_exit" in model.services[name].hooks]
    fragile = [name for name in up if "pre_start" in model.services[name].hooks]
    checked = [name for name in up if model.services[name].checked]
    bad = [f"heal {name}" for name in model.sick] + [f"mend {name}" for name in model.broken] + [f"release {name}" for name in model.held]
    choices = [
        (8 * bool(up), lambda: [draw_end(chance, draw_names(chance, up).split())]),
        (2, lambda: ["stop " + draw_names(chance, names)]),
        (1, lambda: ["stop"]),
        (2, lambda: ["start -d"]),
        (1, lambda: ["start"]),
        (2, lambda: ["start -d " + draw_names(chance, names) + (" --no-deps" if chance.random() < 0.2 else "")]),
        (3 * bool(up), lambda: ["restart " + draw_names(chance, up)]),
        (1 * bool(up), lambda: ["restart"]),
        (4 * bool(checked), lambda: [f"hiccup {chance.choice(checked)}"]),
        (2 * bool(checked), lambda: [f"sicken {chance.choice(checked)}"]),
        (3 * bool(checked), lambda: draw_trouble(chance, model, "sicken", checked)),
        (3 * bool(fragile), lambda: draw_trouble(chance, model, "break", fragile)),
        (6 * bool(hooked), lambda: draw_trouble(chance, model, "hold", hooked)),
        (4 * bool(bad), lambda: [chance.choice(sorted(bad))]),
        (2, lambda: ["crash"]),
        (1, lambda: ["terminate"]),
    ]
    return chance.choices([draw for _, draw in choices], [weight for weight, _ in choices])[0]()


def draw_case(chance):
    """The model plays along, so that events are about what can happen."""
    case = draw_config(chance)
    model = Model(case)
    events = case["x-events"]
    events.append("start" if chance.random() < 0.5 else "start -d")
    model.start()
    for _ in range(chance.randint(2, 7)):
        for event in draw_events(chance, model):
            if model.trim(event):
                events.append(event)
                model.play(model.trim(event))
    return case


# --- smaller ones --------------------------------------------------------------------------------


def without_service(case, name):
    del case["services"][name]
    for keys in case["services"].values():
        drop(keys.get("depends_on", {}), name)
        if not keys.get("depends_on", True):
            del keys["depends_on"]
    events = []
    for event in case["x-events"]:
        words = event.split()
        left = [word for word in words if word.split("=")[0] != name]
        if len(left) == len(words) or any(not word.startswith("-") for word in left[1:]):
            events.append(" ".join(left))
    case["x-events"] = events


def drop(mapping, key):
    mapping.pop(key, None)


def edits(case):
    """Functions that each take one thing out of a copy of the case: the largest first."""
    for name in case["services"]:
        yield lambda new, name=name: without_service(new, name)
    for at in range(len(case["x-events"])):
        yield lambda new, at=at: new["x-events"].pop(at)
    for at, event in enumerate(case["x-events"]):
        for word in event.split()[1:]:
            if word != "-d" and len(event.split()) > 2:
                yield lambda new, at=at, word=word: new["x-events"].__setitem__(
                    at, " ".join(one for one in new["x-events"][at].split() if one != word))
    if "kepler" in case:
        yield lambda new: drop(new, "kepler")
    for name, keys in case["services"].items():
        for target, edge in keys.get("depends_on", {}).items():
            yield lambda new, name=name, target=target: drop(new["services"][name]["depends_on"], target)
            for key in edge:
                yield lambda new, name=name, target=target, key=key: drop(new["services"][name]["depends_on"][target], key)
        for phase in keys.get("hooks", {}):
            yield lambda new, name=name, phase=phase: drop(new["services"][name]["hooks"], phase)
        for key in keys:
            if key != "command":
                yield lambda new, name=name, key=key: drop(new["services"][name], key)
        if "polite" in keys["command"]:
            yield lambda new, name=name: new["services"][name]["command"].remove("polite")


def shrink(case, fails, tries):
    """The smallest case found that still fails: one that fails without another part is tried again from its beginning."""
    again = True
    while again:
        again = False
        for edit in list(edits(case)):
            new = copy.deepcopy(case)
            edit(new)
            tries -= 1
            if tries < 0:
                return case
            if new["services"] and fails(new):
                case, again = new, True
                break
    return case
