"""Invalid or absurd documents and files: an error that names the field, or a short run."""

from __future__ import annotations

import copy
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_sim import _native
from reference_sim.scenario_file import parse
from reference_sim.simulation import simulate
from reference_sim.tls import PRESETS
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError

# Enough for these pages to complete many times; a faulty run fails within its first events.
EVENTS = 4000
TABLES = ("connections", "transactions", "retrievals", "packets", "hops", "windows", "queues", "limits", "links")
VALID = [
    retrieval(strategy=strategy, page="heidemann", network=network, client_stack=stack).document()
    for strategy, network, stack in (
        ("http11-pipelined", "thesis", "linux-6"),
        ("http10-parallel", "lan", "sunos-4.1.3"),
        ("http10-etcp-fair-again", "wan", "reno"),
        ("optimized-browser", "satellite-hub", "reno"),
        ("ftp", "wan", "tahoe-ns"),
    )
]
VALID += [retrieval(strategy="http11", page="heidemann", network="wan", tls=name).document() for name in PRESETS]
ODD = (
    *(None, True, False, "", "x", "a\r\nb", "\0", "\ud800", "é", [], {}, [[]], {"kind": "x"}),
    *(-1, 0, 1, 2, 255, 256, 65_535, 65_536, 10**6, 10**9, 10**12, 10**15),
    *(2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**200),
    *(0.0, -0.5, 0.5, 1.0, 1e-300, 1e300, math.inf, math.nan),
)


def places(value, path=()):
    """Yield the paths of a document's values."""
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


@st.composite
def changed(draw, valid):
    """Return a valid document with up to three values replaced."""
    document = copy.deepcopy(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(places(document), key=str)))
        *above, last = path
        holder = document
        for key in above:
            holder = holder[key]
        action = draw(st.sampled_from(("put", "put", "put", "drop", "double")))
        if action == "put":
            holder[last] = draw(st.sampled_from(ODD))
        elif action == "drop":
            del holder[last]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
    return document


def run_briefly(document):
    """Run its first events and make all tables."""
    simulation = _native.Simulation(json.dumps(document))
    simulation.step(EVENTS)
    outcome = simulation.finish()
    for name in TABLES:
        outcome.table(name)
    for tap in range(len(document["taps"])):
        outcome.packets(tap)
        outcome.pcapng(tap)


def fault_of(run):
    """Return the error's field and message, if any; no other exception may occur."""
    try:
        run()
    except (_native.ScenarioFault, ScenarioError) as fault:
        return fault
    return None


@given(changed(VALID))
def test_a_changed_document_runs_or_is_a_fault_that_says_where(document):
    fault = fault_of(lambda: run_briefly(document))
    assert fault is None or all(fault.args)


anything = st.recursive(st.sampled_from(ODD), lambda part: st.lists(part) | st.dictionaries(st.text(), part))


@given(st.text(st.characters(exclude_categories=["Cs"])) | anything.map(json.dumps))
def test_an_invalid_document_is_a_fault(text):
    with pytest.raises(_native.ScenarioFault):
        _native.Simulation(text)


def forever(document):
    document["browsers"][0]["forever"] = True


def each(table, **changes):
    return lambda document: [part.update(copy.deepcopy(changes)) for part in document[table]]


def both(*changes):
    return lambda document: [change(document) for change in changes]


def size_of_first(value):
    return lambda document: document["pages"][0]["objects"][0].update(size={"kind": "constant", "value": value})


def first_fetch(**changes):
    return lambda document: document["plans"][0]["fetches"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (forever, "browsers[0].forever"),
        (size_of_first(10**15), "pages[0].objects[0].size.value"),
        (both(size_of_first(10**12), lambda it: it["servers"][0]["writes"].update(chunk_bytes=1)), "servers[0]"),
        (each("links", rate_bps=0), "links[0].rate_bps"),
        (each("links", rate_bps=None, delay_ns=0), "links[0].delay_ns"),
        (each("links", delay_ns=2**64 - 1), "links[0].delay_ns"),
        (lambda it: it["links"].clear(), "browsers[0].node"),
        (lambda it: it.update(epoch_ns=-1), "epoch_ns"),
        (lambda it: it.update(duration_ns=10**18), "duration_ns"),
        (first_fetch(after={"kind": "complete", "fetch": 2}), "plans[0].fetches[0].after"),
        (first_fetch(method="GET /\r\n"), "plans[0].fetches[0].method"),
        (lambda it: it["pages"][0]["objects"][1].update(target="/a b"), "pages[0].objects[1].target"),
        (each("plans", connections=10**6), "plans[0].connections"),
        (each("servers", min_head_bytes=2**32 - 1), "servers[0].min_head_bytes"),
        (each("browsers", think={"kind": "uniform", "low": 0, "high": 2**64 - 1}), "browsers[0].think.high"),
        (each("stacks", mss=12), "stacks[0].mss"),
        (each("stacks", send_buffer=2**63), "stacks[0].send_buffer"),
        (each("nodes", address=[10, 0, 0, 1]), "nodes[1].address"),
    ],
)
def test_a_scenario_without_end_or_sense_is_refused_before_it_runs(change, field):
    document = copy.deepcopy(VALID[0])
    change(document)
    with pytest.raises(ScenarioError) as caught:
        simulate(document)
    assert str(caught.value).startswith(field)


DEAD_AFTER_A_WHILE = {
    "kind": "bursts",
    "good_to_bad": 0.1,
    "bad_to_good": 0.0,
    "loss_in_good": 0.0,
    "loss_in_bad": 1.0,
}


@pytest.mark.parametrize(
    "change",
    [
        each("links", loss=[{"kind": "packets", "rate": 1.0}]),
        each("links", rate_bps=1),
        each("links", loss=[DEAD_AFTER_A_WHILE]),
    ],
    ids=["all is lost", "a bit a second", "dead after a while"],
)  # fmt: skip
def test_a_page_that_never_comes_ends_the_simulation_all_the_same(change):
    document = copy.deepcopy(VALID[0])
    change(document)
    simulation = simulate(document)
    assert simulation.events < 10_000
    assert simulation.truth.retrievals["end"].null_count() == simulation.truth.retrievals.height


def test_a_document_that_json_cannot_say_is_an_error():
    with pytest.raises(ScenarioError, match="not a JSON document"):
        simulate(VALID[0] | {"seed": object()})


FILE = """
seed = 7
duration = "60 s"
network = "thesis"

[stacks.mine]
based_on = "linux-6"
nagle = "off"
initial_window = "3 segments"

[pages.home]
base = "6651 B"
images = ["3883 B", "1866 B"]

[[servers]]
name = "web"
node = "s1"
stack = "mine"
processing = ["1 ms", "2 ms"]
keep_alive = { timeout = "15 s" }

[[browsers]]
node = "c1"
stack = "mine"
origin = "web"
page = "home"
plan = "http11-pipelined"
start = "1 s"
"""
# Replacements for each value in FILE.
ODD_TOML = (
    *('""', '"x"', '"-1 s"', '"1 s s"', '"1e9 s"', '"9999999999999999999999 s"', f'"{"9" * 5000} s"', '"\\u0000"'),
    *("-1", "0", "1", "1.5", "inf", "nan", "true", str(2**64), f"0x{'f' * 6000}", "1979-05-27", "07:32:00"),
    *(f'"{"9" * 5000} segments"', "[]", "[[]]", "[1, 2]", "{}", '{ kind = "x" }', '{ kind = "pareto" }'),
)


@given(st.data())
def test_a_changed_file_runs_or_is_an_error_that_says_where(data):
    lines = FILE.splitlines()
    for _ in range(data.draw(st.integers(1, 2))):
        number = data.draw(st.sampled_from([number for number, line in enumerate(lines) if " = " in line]))
        key, _, _ = lines[number].partition(" = ")
        lines[number] = data.draw(st.sampled_from([f"{key} = {value}" for value in ODD_TOML] + ["", "colour = 1"]))
    text = "\n".join(lines)
    fault = fault_of(lambda: run_briefly(parse(text, path="x.toml").document()))
    is_of_file = isinstance(fault, ScenarioError)
    assert fault is None or all(fault.args)
    assert not is_of_file or str(fault).startswith("x.toml: ")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "x = " + "[" * 100_000, f"x = {'9' * 5000}", "\0", "a.b.c = 1\na = 2"]
)
def test_invalid_toml_is_an_error(text):
    with pytest.raises(ScenarioError, match=r"x\.toml: not TOML"):
        parse(text, path="x.toml")
