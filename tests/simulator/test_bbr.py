"""BBR as Linux has it: delivery and flight of one download, beside a real kernel's."""

from dataclasses import replace
from statistics import mean

import polars as pl
import pytest

from reference_sim import retrieval, simulate
from reference_sim.networks import path
from reference_sim.page import Page, objects_of
from reference_sim.stack import Sharing
from reference_sim.stacks import PRESETS
from reference_sim.topology import PacketLoss, PacketQueue
from tcptrace_http.errors import ScenarioError

MS = 1_000_000
SEGMENT = 1448
BBR = PRESETS["linux-6-bbr"].stack
#: Queue of the comparisons in packets: never full, and half of one BDP.
DEEP, SHALLOW = 1000, 40


def download(size, *, queue=DEEP, stack="linux-6-bbr", seed=1, loss=()):
    """Simulate one download over 20 Mb/s with a delay of 25 ms."""
    network = path("path", rate=20_000_000, delay=25 * MS, queue=PacketQueue(limit=queue), loss=loss)
    page = Page(name="page", objects=objects_of(size))
    made = retrieval(strategy="http10-serial", page=page, network=network, client_stack=stack, seed=seed)
    return simulate(made)


def at_server(run):
    """Return milliseconds since the first data, acknowledged bytes and flight, per event at the server."""
    events = []
    columns = ("side", "seq", "ack", "payload_bytes", "sent", "received")
    rows = run.truth.packets.select(*columns[:4], *(pl.col(name).to_physical() for name in columns[4:]))
    for side, seq, ack, payload, sent, received in rows.iter_rows():
        if side == "server" and payload:
            events.append((sent, 1, seq + payload))
        elif side == "client" and received is not None:
            events.append((received, 0, ack))
    events.sort()
    start = next(at for at, is_data, _ in events if is_data)
    sent = acked = 1
    seen = []
    for at, is_data, edge in events:
        sent, acked = (max(sent, edge), acked) if is_data else (sent, max(acked, edge))
        if at >= start:
            seen.append(((at - start) / MS, acked - 1, max(sent - acked, 0)))
    return seen


def times_of_tenths(run):
    """Return the milliseconds until the ACK of each tenth of the data."""
    seen = at_server(run)
    total = seen[-1][1]
    return [next(at for at, acked, _ in seen if acked >= total * tenth / 10) for tenth in range(1, 11)]


def flight(run, since, until):
    """Return the mean flight per event within two times, in segments."""
    return mean(flying / SEGMENT for at, _, flying in at_server(run) if since <= at < until)


#: Linux 6.18, BBR as its congestion control, between two network namespaces joined by an emulated link of
#: 20 Mb/s of IP and 25 ms. Milliseconds from the first segment to the ACK of each tenth, median of the runs.
#: 5 MB, queue never full: four runs.
KERNEL = [387.3, 593.8, 801.5, 1008.4, 1216.0, 1422.4, 1630.7, 1837.7, 2044.7, 2251.5]
#: Median over the runs of the mean flight in segments, by milliseconds: end of startup, and ProbeBW.
KERNEL_FLIGHTS = {(400, 700): 254.7, (1200, 2000): 94.0}
#: 5 MB, queue of 40 packets: four runs with 315, 491, 496 and 500 losses.
KERNEL_SHALLOW = [433.0, 655.9, 815.5, 1024.0, 1231.1, 1448.6, 1654.4, 1854.2, 2061.2, 2268.4]
#: 5 MB, queue never full, 1 % of the packets lost at random: the last tenth, median of three runs.
KERNEL_LOSSY = 2300.5
#: 30 MB, with one ProbeRTT: two runs. The first run held 2 to 4 segments from 9.90 to 10.10 s.
KERNEL_LONG = [1461.0, 2696.4, 3949.0, 5184.2, 6433.1, 7671.5, 8914.7, 10426.5, 11669.6, 12911.8]


def test_data_is_delivered_when_the_kernel_delivers_it():
    assert times_of_tenths(download(4_999_800)) == pytest.approx(KERNEL, rel=0.01)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_flight_in_startup_and_in_probe_bw_is_the_kernels(seed):
    run = download(4_999_800, seed=seed)
    made = [flight(run, *interval) for interval in KERNEL_FLIGHTS]
    assert made == pytest.approx(list(KERNEL_FLIGHTS.values()), rel=0.1)


def test_losses_in_a_shallow_queue_cost_as_much_as_in_the_kernel():
    assert times_of_tenths(download(4_999_800, queue=SHALLOW)) == pytest.approx(KERNEL_SHALLOW, rel=0.1)


def test_a_long_download_pauses_for_probe_rtt_as_in_the_kernel():
    run = download(29_999_800)
    assert times_of_tenths(run) == pytest.approx(KERNEL_LONG, rel=0.03)
    low = [at for at, _, flying in at_server(run) if at > 1000 and flying <= 4 * SEGMENT]
    # Within the RTT after ten seconds, for 200 ms and a round trip at most.
    probing = [at for at in low if at < 11_000]
    assert min(probing) == pytest.approx(10_000, rel=0.02)
    assert 190 <= max(probing) - min(probing) <= 270


def test_random_losses_slow_cubic_but_bbr_no_more_than_in_the_kernel():
    lossy = (PacketLoss(rate=0.01),)
    bbr, cubic = (
        times_of_tenths(download(4_999_800, stack=stack, loss=lossy))[-1] for stack in ("linux-6-bbr", "linux-6")
    )
    assert bbr == pytest.approx(KERNEL_LOSSY, rel=0.05)
    assert cubic > 3 * bbr


def test_the_phase_of_probe_bw_follows_the_seed():
    def sent(seed):
        return download(4_999_800, seed=seed).truth.packets["sent"].to_list()

    assert sent(1) == sent(1)
    assert len({tuple(sent(seed)) for seed in range(8)}) > 1


def test_bbr_needs_a_window_of_its_own():
    shared = replace(BBR, sharing=Sharing.TEMPORAL)
    made = retrieval(strategy="http11", page="heidemann", network="wan", client_stack=shared)
    with pytest.raises(ScenarioError, match="BBR has a model per connection; set sharing to none"):
        simulate(made)


def test_without_sack_bbr_recovers_by_duplicate_acks():
    lossy = (PacketLoss(rate=0.005),)
    client = replace(BBR, sack=False)
    clear, lost = (download(2_999_800, stack=client, loss=loss) for loss in ((), lossy))
    assert times_of_tenths(clear)[-1] == pytest.approx(times_of_tenths(download(2_999_800))[-1], rel=0.02)
    assert times_of_tenths(lost)[-1] < 2 * times_of_tenths(clear)[-1]
    assert "fast_retransmit" in set(lost.truth.packets["reason"])
