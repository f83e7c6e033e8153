"""Scenarios in TOML: their meaning, and errors named by file and field."""

import pytest

from reference_sim.page import Uniform
from reference_sim.scenario import LinkTap, NodeTap
from reference_sim.scenario_file import parse, read
from reference_sim.simulation import simulate
from reference_sim.stack import Nagle, Segments
from reference_sim.topology import CodelQueue, PacketQueue
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError

OFFICE = """
seed = 7
duration = "60 s"
network = "thesis"
taps = ["c1", "gateway-c-gateway-s"]
record = { packets = true }

[stacks.mine]
based_on = "linux-6"
nagle = "off"
initial_window = "3 segments"
acks = { every = 1 }

[pages.home]
base = "6651 B"
images = ["3883 B", "1866 B"]

[plans.two]
connections = 2
persistent = true
fetches = [
  { objects = [0] },
  { objects = [1], after = { kind = "complete", fetch = 0 }, lane = 1 },
  { objects = [2], after = { kind = "bytes", fetch = 0, bytes = "1 kB" } },
]

[[servers]]
name = "web"
node = "s1"
stack = "mine"
processing = "2 ms"
keep_alive = { timeout = "15 s" }
writes = { head_alone = true, chunk_bytes = "4 KiB" }

[[browsers]]
node = "c1"
stack = "mine"
origin = "web"
page = "home"
plan = "http11-pipelined"
think = ["1 s", "2 s"]
forever = true

[[browsers]]
node = "c2"
stack = "sunos-4.1.3"
origin = "web"
visits = [{ page = "kruse-lerc", plan = "http10-serial" }, { page = "home", plan = "two", think = "3 s" }]
"""

TWO_HOSTS = """
browsers = [{ node = "a", stack = "reno", page = "heidemann", plan = "getall" }]
servers = [{ node = "b", stack = "reno" }]

[network]
nodes = [{ name = "a", address = "10.0.0.1" }, { name = "b", address = "10.0.0.2" }]
clients = ["a"]
servers = ["b"]

[[network.duplex]]
between = ["a", "b"]
rate = "1.5 Mb/s"
delay = "30 ms"
queue = "25 packets"
loss = [{ kind = "bit-errors", rate = 1e-6 }]
"""


def test_a_scenario_file_is_read_as_documented():
    office = parse(OFFICE)
    assert office.taps == (NodeTap(name="c1"), LinkTap(name="gateway-c-gateway-s"))
    mine = office.browsers[0].stack
    assert (mine.nagle, mine.initial_window, mine.acks.every) == (Nagle.OFF, Segments(segments=3), 1)
    assert mine.acks.quick_acks is not None, "what is not given stays as it was"
    assert office.browsers[0].think == Uniform(low=10**9, high=2 * 10**9)
    assert office.servers[0].writes.chunk_bytes == 4096
    assert [visit.page.name for visit in office.browsers[1].visits] == ["kruse-lerc", "home"]
    assert [visit.think for visit in office.browsers[1].visits] == [None, 3 * 10**9]


def test_a_network_of_ones_own_runs():
    made = parse(TWO_HOSTS)
    assert made.network.link("b-a").queue == PacketQueue(limit=25)
    assert made.network.link("b-a").rate == 1_500_000
    assert simulate(made).truth.retrievals["end"].null_count() == 0


@pytest.mark.parametrize(
    ("text", "queue"),
    [
        ("codel", CodelQueue(limit=1000)),
        ("codel-ecn", CodelQueue(limit=1000, marks=True)),
        ("codel 50 packets", CodelQueue(limit=50)),
    ],
)
def test_a_queue_with_codel_is_read(text, queue):
    assert parse(TWO_HOSTS.replace("25 packets", text)).network.link("b-a").queue == queue


def test_the_limit_of_codel_is_counted_in_packets():
    with pytest.raises(ScenarioError, match="is bounded in packets"):
        parse(TWO_HOSTS.replace("25 packets", "codel 64 kB"))


def test_a_short_file_equals_the_command_lines_scenario():
    text = (
        'strategy = "http11"\npage = "kruse-lerc"\nnetwork = "satellite"\nstack = "netbsd-1.2.1"\nthink = "1 s"\n'
    )
    made = retrieval(strategy="http11", page="kruse-lerc", network="satellite", client_stack="netbsd-1.2.1")
    short = parse(text)
    assert short.document()["stacks"] == made.document()["stacks"]
    assert short.document()["plans"] == made.document()["plans"]
    assert short.browsers[0].think.value == 10**9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"http11-pipelined"',
            '"http11-pipelind"',
            "browsers[0].plan: no strategy 'http11-pipelind'; did you mean 'http11-pipelined'?",
        ),
        ('node = "c2"', 'node = "c9"', "browsers[1].node: no node 'c9'"),
        ('"2 ms"', '"2 parsecs"', "servers[0].processing: '2 parsecs' is not a duration"),
        ("every = 1", "evry = 1", "stacks.mine.acks.evry: unknown; did you mean 'every'?"),
        ("forever", "forver", "browsers[0].forver: unknown; did you mean 'forever'?"),
        (
            "objects = [2]",
            "objects = [7]",
            "browsers[1].visits[1].plan.fetches[2].objects: page 'home' has",
        ),
        ('duration = "60 s"', "", "duration: a client never ends"),
        ("seed = 7", "seed = 'x'", "seed: 'x' is not a whole number"),
        ("seed = 7", "sed = 7", "sed: unknown; did you mean 'seed'?"),
        ('taps = ["c1"', 'taps = ["cx"', "taps[0]: no link 'cx'"),
        ("fetch = 0, bytes", "fetch = 2, bytes", "plans.two.fetches[2].after: fetch 2 is not earlier"),
        ('"off"', '"offf"', "stacks.mine.nagle: no choice 'offf'; did you mean 'off'?"),
        ('"linux-6"', '"linx-6"', "stacks.mine.based_on: no stack 'linx-6'; did you mean 'linux-6'?"),
        (
            'kind = "bytes"',
            'kind = "byte"',
            "plans.two.fetches[2].after.kind: no kind 'byte'",
        ),
        ('network = "thesis"', "", "network: is missing"),
        ('page = "home"\n', "", "browsers[0].page: is missing"),
        ('"3883 B"', '"3883 X"', "pages.home.images[0]: '3883 X' is not a size"),
        ("head_alone = true", "head_alone = 1", "servers[0].writes.head_alone: 1 is not true or false"),
        (
            "3 segments",
            "3 parts",
            "stacks.mine.initial_window: '3 parts' is not '3 segments'",
        ),
    ],
)
def test_a_mistake_is_named_by_file_and_field(old, new, message):
    assert old in OFFICE
    with pytest.raises(ScenarioError) as raised:
        parse(OFFICE.replace(old, new, 1), path="office.toml")
    assert str(raised.value).startswith(f"office.toml: {message}")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"nothing\.toml: No such file"):
        read(tmp_path / "nothing.toml")


def test_a_file_that_is_no_toml_is_named(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("seed = = 7\n")
    with pytest.raises(ScenarioError, match=r"broken\.toml: not TOML: .*line 1"):
        read(path)
