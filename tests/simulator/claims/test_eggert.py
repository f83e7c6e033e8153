"""Claims E6 and E7 of Eggert, "Ensemble-TCP" (1999): its Figures 3 and 4.

The figures print neither the size of what is transferred nor ns-2's clock; connections there have no SYNs. Times
are therefore those of the data's packets. The pages (Figures 5 and 6) are in ``test_ensemble_tcp.py``.
"""

from datetime import timedelta

import polars as pl
import pytest

from reference_sim.networks import network
from reference_sim.stacks import stack

from .runs import gaps, of_server, seconds, transfers

ETCP = stack("etcp-fair")
S = 10**9
# What a segment of 512 bytes carries beside T/TCP's options.
SEGMENT = 500


def trace(truth, connection):
    """Seconds at which a connection's data packets left the server, and when the last of them came."""
    packets = of_server(truth, connection=connection)
    return seconds(packets["sent"]), (packets["received"][-1] - packets["sent"][0]).total_seconds()


def test_e6_the_second_transfer_is_paced_and_ends_0_18_s_sooner():
    """Four packets, those that Figure 3 shows paced."""
    truth = transfers(network("eggert"), ETCP, (0, 4 * SEGMENT), (2 * S, 4 * SEGMENT))
    first, first_took = trace(truth, 0)
    second, second_took = trace(truth, 1)
    assert len(first) == len(second) == 4
    assert first_took - second_took == pytest.approx(0.18, rel=0.1)
    # Slow start needs three round trips for what now leaves within one, packet by packet.
    assert first[-1] > 0.2
    assert second[-1] < 0.1
    paced = gaps(second[1:])
    assert min(paced) > 0
    assert paced == pytest.approx([paced[0]] * len(paced), rel=0.01)


def test_e6_without_sharing_both_transfers_take_the_same_time():
    truth = transfers(network("eggert"), stack("reno-ns"), (0, 4 * SEGMENT), (2 * S, 4 * SEGMENT))
    assert trace(truth, 0) == trace(truth, 1)


def shares(packets, start, end):
    """Packets of each of three connections in a stretch of time, as shares of all."""
    within = packets.filter((pl.col("sent") >= start) & (pl.col("sent") < end))
    counts = [within.filter(connection=connection).height for connection in range(3)]
    assert sum(counts) > 10
    return [count / sum(counts) for count in counts]


def test_e7_connections_share_the_window_equally_as_they_come_and_go():
    """They start at 0, 0.5 and 0.8 s; the third one ends first, and the second before the first one."""
    packets = of_server(
        transfers(
            network("eggert"), ETCP, (0, 350 * SEGMENT), (S // 2, 140 * SEGMENT), (8 * S // 10, 40 * SEGMENT)
        )
    )
    spans = [packets.filter(connection=connection)["sent"] for connection in range(3)]
    starts, ends = [span.min() for span in spans], [span.max() for span in spans]
    assert ends[2] < ends[1] < ends[0]
    assert shares(packets, starts[0], starts[1]) == [1, 0, 0]
    assert shares(packets, starts[1], starts[2]) == pytest.approx([1 / 2, 1 / 2, 0], abs=0.04)
    assert shares(packets, starts[2], ends[2]) == pytest.approx([1 / 3] * 3, abs=0.02)
    assert shares(packets, ends[2] + timedelta(microseconds=1), ends[1]) == pytest.approx(
        [1 / 2, 1 / 2, 0], abs=0.02
    )
    alone = packets.filter(pl.col("sent") > ends[1])
    assert alone.height > 20
    assert set(alone["connection"]) == {0}


def test_e7_connections_that_share_nothing_do_not_split_the_window_of_the_first():
    """Reno's second connection begins with a window of its own, which is no half of the first one's."""
    started = ((0, 350 * SEGMENT), (S // 2, 140 * SEGMENT))
    shared = {}
    for name in ("etcp-fair", "reno-ns"):
        packets = of_server(transfers(network("eggert"), stack(name), *started))
        second = packets.filter(connection=1)["sent"]
        early = packets.filter((pl.col("sent") >= second[0]) & (pl.col("sent") <= second[4]))
        shared[name] = early.filter(connection=1).height / early.height
    assert shared["etcp-fair"] > 0.4
    assert shared["reno-ns"] < 0.3
