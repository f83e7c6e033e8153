"""Stacks newer than the papers: effect of each mechanism, and a real kernel's behaviour."""

from dataclasses import replace

import polars as pl
import pytest

from reference_sim import retrieval, simulate
from reference_sim.networks import network, path
from reference_sim.page import Page, objects_of
from reference_sim.scenario_file import parse
from reference_sim.scenario_writer import toml_of
from reference_sim.stacks import PRESETS
from reference_sim.topology import CodelQueue, PacketQueue
from tcptrace_http.errors import ScenarioError

MS = 1_000_000
SYN = 0x02
#: Number of the link from the server in networks of two hosts.
TO_CLIENT = 1


def departures(stack, *, size, delay, rate=None):
    """Return sending times of a response's data segments at the server, in milliseconds after the first."""
    scenario = retrieval(
        strategy="http11",
        page=Page(name="page", objects=objects_of(size)),
        network=path("path", rate=rate, delay=delay),
        client_stack=stack,
        at="server",
    )
    run = simulate(scenario)
    rows = run.capture(run.taps[0]).packets.filter(pl.col("source_port") == 80, pl.col("payload_bytes") > 0)
    times = rows["time"].to_physical().to_list()
    return [(time - times[0]) / MS for time in times]


#: Linux 6.18, CUBIC, SO_MAX_PACING_RATE of 4 GB/s (which paces as fq does), 120,000 B over a 50 ms link
#: without a rate. Milliseconds from the first segment to each segment, for the first three RTTs.
KERNEL = (
    *([0.0] * 10),
    *(100.6, 100.6, 105.2, 105.2, 110.2, 110.2, 115.3, 115.3, 120.3, 120.3),
    *(125.3, 125.3, 130.4, 130.4, 135.4, 135.4, 140.4, 140.4, 145.5, 145.5),
    *(201.1, 201.1, 203.6, 203.6, 208.1, 208.1, 212.3, 212.3, 216.2, 216.2, 219.8, 219.8, 223.4, 223.4),
    *(226.7, 226.7, 229.9, 229.9, 233.0, 233.0, 235.9, 235.9, 238.9, 238.9, 241.7, 241.7, 244.3, 244.3),
    *(247.0, 247.0, 249.5, 249.5, 252.0, 252.0, 254.5, 254.5, 257.0, 257.0, 259.6, 259.6),
)
ROUNDS = (slice(0, 10), slice(10, 30), slice(30, 70))
#: In each RTT, the kernel's machine took 0.6 ms for itself: times are relative to the RTT's first segment.
TOLERANCE_MS = 0.7


def within_rounds(times):
    return [time - times[each.start] for each in ROUNDS for time in times[each]]


def test_pacing_spreads_the_window_as_linux_does():
    made = departures("linux-6-paced", size=119_800, delay=50 * MS)
    assert within_rounds(made) == pytest.approx(within_rounds(KERNEL), abs=TOLERANCE_MS)


def test_without_pacing_each_window_goes_at_once():
    made = departures("linux-6", size=119_800, delay=50 * MS)
    assert made[: len(KERNEL)] == pytest.approx([0.0] * 10 + [100.0] * 20 + [200.0] * 40)


def dropped(stack):
    """Return packets that a queue drops while one response of 2 MB fills a link."""
    network = path("path", rate=20_000_000, delay=25 * MS, queue=PacketQueue(limit=100))
    page = Page(name="page", objects=objects_of(2_000_000))
    run = simulate(retrieval(strategy="http11", page=page, network=network, client_stack=stack))
    return run.truth.hops["drop"].is_not_null().sum()


def test_hystart_plus_plus_loses_less_than_half_as_much_as_slow_start():
    assert dropped("linux-6-hystart-plus-plus") < dropped("linux-6") / 2


def segments(run, connection=None):
    """Return per segment: milliseconds from the SYN, sender, flags, payload, ACK, offered right edge."""
    rows = run.truth.packets.sort("sent", maintain_order=True)
    if connection is not None:
        rows = rows.filter(pl.col("connection") == connection)
    times = rows["sent"].to_physical().to_list()
    columns = ("side", "flags", "payload_bytes", "ack", "window_bytes")
    return [
        ((time - times[0]) / MS, side, flags, payload, ack, ack + window)
        for time, side, flags, payload, ack, window in zip(times, *(rows[name] for name in columns), strict=True)
    ]


def transfers(stack, *sizes, rate=None, strategy="http10-serial"):
    page = Page(name="page", objects=objects_of(*sizes))
    network = path("path", rate=rate, delay=50 * MS)
    return simulate(retrieval(strategy=strategy, page=page, network=network, client_stack=stack))


#: Linux 6.18, CUBIC, net.ipv4.tcp_fastopen 3, a client with the server's cookie, over a 50 ms link without a
#: rate. Per segment up to the first flight: milliseconds from the SYN, sender and payload. The SYN carries
#: the request of 100 bytes.
KERNEL_FAST_OPEN = [
    (0.0, "client", 100),
    (50.3, "server", 0),
    *[(50.5, "server", 1448)] * 10,
    (100.7, "client", 0),
]


def test_a_fast_open_goes_as_linux_has_it():
    run = transfers("linux-6-fast-open", 29_000, 29_000)
    assert segments(run, connection=0)[0][3] == 0
    made = segments(run, connection=1)[: len(KERNEL_FAST_OPEN)]
    times, senders, payloads = zip(*KERNEL_FAST_OPEN, strict=True)
    assert [side for _, side, *_ in made] == list(senders)
    request, *others = (payload for _, _, _, payload, *_ in made)
    assert request > 0
    assert others == list(payloads[1:])
    assert [row[0] for row in made] == pytest.approx(times, abs=0.8)
    _, _, flags, _, acknowledged, _ = made[1]
    assert (flags & SYN, acknowledged) == (SYN, 1 + request)


def test_a_fast_open_saves_a_rtt_of_each_further_connection():
    def duration(stack):
        return segments(transfers(stack, 1000, 1000, 1000))[-1][0]

    assert duration("linux-6") - duration("linux-6-fast-open") == pytest.approx(200.0)


#: Linux 6.18 over a link of 20 Mb/s and 50 ms, 3 MB, CUBIC. Right edge offered by the client at the end of
#: each of the first eight RTTs after the handshake; median of four runs.
KERNEL_EDGES = [64_513, 95_377, 124_337, 271_345, 522_354, 1_128_529, 1_766_137, 2_429_137]


def edges(stack, size):
    """Return the right edge offered by the end of each 100 ms after the handshake's."""
    rows = segments(transfers(stack, size, rate=20_000_000, strategy="http11"))
    offers = [(at, edge) for at, side, flags, _, _, edge in rows if side == "client" and not flags & SYN]
    return [max(edge for at, edge in offers if at < 100 * number) for number in range(2, 2 + len(KERNEL_EDGES))]


def test_autotuning_opens_the_window_as_linux_does():
    assert edges("linux-6-autotuned", 2_999_800) == pytest.approx(KERNEL_EDGES, rel=0.1)


def test_without_autotuning_the_whole_buffer_is_offered_at_once():
    assert edges("linux-6", 2_999_800)[0] > 3_000_000


def filled(stack, where):
    """Return one response of 8 MB over a modern access link."""
    page = Page(name="page", objects=objects_of(8_000_000))
    return simulate(retrieval(strategy="http11", page=page, network=network(where), client_stack=stack))


def waited(run):
    """Return the median time in the queue of the link to the client, in milliseconds."""
    hops = run.truth.hops.filter(pl.col("dequeued").is_not_null(), pl.col("link") == TO_CLIENT)
    return (hops["dequeued"] - hops["enqueued"]).to_physical().median() / MS


def drops(run):
    return run.truth.hops["drop"].drop_nulls().value_counts().rows()


def test_codel_ends_a_standing_queue():
    long, managed = (filled("linux-6", where) for where in ("broadband", "broadband-codel"))
    assert waited(long) > 100
    assert waited(managed) < 5
    assert [cause for cause, _ in drops(managed)] == ["codel"]


def test_codel_marks_what_it_would_drop_where_both_ends_have_ecn():
    run = filled("linux-6-ecn", "broadband-codel-ecn")
    assert drops(run) == []
    assert not run.truth.packets["is_retransmission"].any()
    assert waited(run) < 5
    marks = run.capture(run.taps[0]).packets.filter(pl.col("ecn") == 3)
    reductions = run.truth.packets.filter(pl.col("flags") & 0x82 == 0x80)
    assert 0 < reductions.height <= marks.height


@pytest.mark.parametrize("where", ["broadband-codel", "broadband-codel-ecn"])
def test_without_ecn_packets_are_dropped_by_either_queue(where):
    run = filled("linux-6", where)
    assert [cause for cause, _ in drops(run)] == ["codel"]
    assert set(run.capture(run.taps[0]).packets["ecn"]) == {0}


@pytest.mark.parametrize("queue", [CodelQueue(), CodelQueue(limit=50, marks=True)])
def test_a_queue_with_codel_is_read_as_it_was_written(queue):
    where = path("path", rate=20_000_000, delay=25 * MS, queue=queue)
    made = retrieval(strategy="http11", page="kruse-lerc", network=where)
    assert parse(toml_of(made)).network == where


def test_a_stack_opens_connections_in_one_way():
    both = replace(PRESETS["linux-6-fast-open"].stack, accelerated_open=True)
    made = retrieval(strategy="http11", page="heidemann", network="wan", client_stack=both)
    with pytest.raises(ScenarioError, match="turn accelerated_open off"):
        simulate(made)


@pytest.mark.parametrize(
    ("queue", "changes", "message"),
    [
        (CodelQueue(limit=0), {}, "queue"),
        (CodelQueue(), {"opens_at_once": True}, "a queue with CoDel holds every packet"),
    ],
)
def test_a_queue_with_codel_has_room_and_takes_all(queue, changes, message):
    where = path("path", rate=20_000_000, delay=25 * MS).with_link("server-client", queue=queue, **changes)
    made = retrieval(strategy="http11", page="heidemann", network=where)
    with pytest.raises(ScenarioError, match=message):
        simulate(made)
