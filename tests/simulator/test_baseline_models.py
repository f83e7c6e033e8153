"""Models beside the simulator: worked examples of the literature, and limits of each model."""

from itertools import pairwise
from math import inf, log2, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_sim.models import Path, bottleneck_bound, propagation_bound
from reference_sim.models.cardwell import handshake_time, slow_start_segments, slow_start_time, transfer_latency
from reference_sim.models.heidemann import http_time, persistent_http_time, slow_start_stalls_time
from reference_sim.models.kurose_ross import (
    non_persistent_page_time,
    object_latency,
    parallel_page_time,
    persistent_page_time,
    slow_start_stalls,
    static_window_latency,
)
from reference_sim.models.mathis import mathis_rate
from reference_sim.models.pftk import (
    Connection,
    backoff,
    expected_window,
    send_rate,
    throughput,
    timeout_probability,
)
from tcptrace_http.errors import ScenarioError

MS = 10**6
S = 10**9
LOSSES = st.floats(1e-5, 0.2)
SIZES = st.integers(1, 10**7)
PATHS = st.builds(
    Path, rtt_ns=st.integers(10**6, 10**9), rate_bps=st.integers(28_000, 10**8), mss=st.sampled_from((536, 1460))
)

# Kurose and Ross, section 3.7: S = 536 bytes; object, RTT, rate, and P and the latency with slow start.
TEXTBOOK = [
    (100_000, 100, 28_000, 1, 28.9),
    (100_000, 100, 100_000, 2, 8.4),
    (5_000, 100, 28_000, 1, 1.73),
    (5_000, 100, 100_000, 2, 0.757),
    (5_000, 100, 1_000_000, 3, 0.52),
    (5_000, 100, 10_000_000, 3, 0.50),
    (5_000, 1000, 28_000, 3, 5.8),
    (5_000, 1000, 100_000, 3, 5.2),
    (5_000, 1000, 1_000_000, 3, 5.0),
    (5_000, 1000, 10_000_000, 3, 5.0),
]


@pytest.mark.parametrize(("size", "rtt_ms", "rate", "stalls", "seconds"), TEXTBOOK)
def test_kurose_ross_as_the_textbooks_tables_have_it(size, rtt_ms, rate, stalls, seconds):
    path = Path(rtt_ns=rtt_ms * MS, rate_bps=rate, mss=536)
    assert slow_start_stalls(size, path=path) == stalls
    assert object_latency(size, path=path) / S == pytest.approx(seconds, rel=0.02)


@given(SIZES, PATHS)
def test_kurose_ross_is_heidemanns_model_with_an_ack_a_segment(size, path):
    """Check that both models sum the same stalls; the textbook takes the last stall as whole."""
    ours = http_time([size], path=path, initial=1, delayed_acks=False)
    assert object_latency(size, path=path) == pytest.approx(ours, abs=10 + 1e-6 * ours)


@given(SIZES, PATHS)
def test_nothing_is_faster_than_the_bounds(size, path):
    bound = propagation_bound(path) + bottleneck_bound(size, path=path)
    assert http_time([size], path=path, initial=1, delayed_acks=True) >= bound
    assert object_latency(size, path=path) >= bound
    assert static_window_latency(size, path=path, window=4) >= bound


@given(SIZES, PATHS, st.integers(1, 12))
def test_pages_of_kurose_ross_are_slowest_one_by_one(size, path, inlines):
    serial = non_persistent_page_time(size, inlines, path=path)
    assert parallel_page_time(size, inlines, path=path, connections=1) == serial
    assert parallel_page_time(size, inlines, path=path, connections=4) <= serial
    assert persistent_page_time(size, inlines, path=path) <= serial


@given(st.lists(SIZES, min_size=1, max_size=8), PATHS)
def test_persistent_http_saves_handshakes_and_slow_starts(sizes, path):
    options = {"path": path, "initial": 1, "delayed_acks": True}
    saved = http_time(sizes, **options) - persistent_http_time(sizes, **options)
    assert saved >= (len(sizes) - 1) * path.rtt_ns - 10 * len(sizes)


def test_the_stalls_of_a_transfer_worked_out_by_hand():
    """Check ten segments of 10 ms over 100 ms: flights of 1, 2, 4 and 3; idle for 100, 90 and 70 ms."""
    path = Path(rtt_ns=100 * MS, rate_bps=1_168_000, mss=1460)
    assert slow_start_stalls_time(14_600, path=path, initial=1, delayed_acks=False) == 260 * MS
    assert http_time([14_600], path=path, initial=1, delayed_acks=False) == (200 + 100 + 260) * MS


PFTK = Connection(rtt_ns=200 * MS, timeout_ns=2 * S)


def test_pftk_worked_out_by_hand():
    """Check 2 % loss, 200 ms, an RTO of 2 s, two segments per ACK."""
    assert expected_window(0.02, 2) == pytest.approx(8.7770, rel=1e-4)
    assert timeout_probability(0.02, 8.7770) == pytest.approx(0.39944, rel=1e-4)
    assert backoff(0.02) == pytest.approx(1.020833, rel=1e-6)
    # (49 + 8.777 + 0.39944/0.98) / (0.2 (8.777 + 1) + 0.39944 * 2 * 1.020833/0.98)
    assert send_rate(0.02, PFTK) == pytest.approx(58.1846 / 2.78758, rel=1e-4)
    assert throughput(0.02, PFTK) == pytest.approx((49 + 8.7770 / 2 + 0.39944) / 2.78758, rel=1e-4)


@given(LOSSES)
def test_pftk_falls_with_loss_and_goodput_is_below_the_send_rate(loss):
    assert send_rate(loss * 1.1, PFTK) < send_rate(loss, PFTK)
    assert throughput(loss, PFTK) < send_rate(loss, PFTK)


def test_pftk_without_loss_worth_the_name_is_a_window_a_rtt():
    limited = Connection(rtt_ns=200 * MS, timeout_ns=2 * S, max_window=20)
    assert send_rate(1e-7, limited) == pytest.approx(20 / 0.2, rel=1e-3)


def test_pftk_of_rare_losses_is_mathis():
    """Check the formula without timeouts: sqrt(3 / (2 b p)) / RTT (Padhye, equation 20)."""
    fast = Connection(rtt_ns=200 * MS, timeout_ns=0, acked=1)
    loss = 1e-8
    assert send_rate(loss, fast) == pytest.approx(
        mathis_rate(loss, rtt_ns=200 * MS, mss=1, delayed_acks=False), rel=1e-3
    )


def test_mathis_is_1_22_segments_a_rtt_over_the_root_of_the_loss():
    rate = mathis_rate(0.01, rtt_ns=100 * MS, mss=1460, delayed_acks=False)
    assert rate == pytest.approx(1.22 * 1460 / (0.1 * sqrt(0.01)), rel=0.005)
    assert mathis_rate(0.01, rtt_ns=100 * MS, mss=1460, delayed_acks=True) == pytest.approx(rate / sqrt(2))


@pytest.mark.parametrize("loss", [0.0, 1.0, -0.1])
def test_long_flow_models_need_a_loss_rate(loss):
    with pytest.raises(ScenarioError, match="loss rate"):
        send_rate(loss, PFTK)
    with pytest.raises(ScenarioError, match="loss rate"):
        mathis_rate(loss, rtt_ns=1, mss=1, delayed_acks=True)


@given(LOSSES)
def test_cardwell_of_a_long_flow_is_pftk(loss):
    segments = 10**9
    rate = segments / (transfer_latency(segments, loss, PFTK) / S)
    assert rate == pytest.approx(throughput(loss, PFTK), rel=1e-3)


def test_cardwell_without_loss_is_slow_start():
    """Check seven segments with an ACK each: flights of 1, 2, 4; three RTTs."""
    every = Connection(rtt_ns=100 * MS, timeout_ns=S, acked=1)
    assert transfer_latency(7, 0.0, every) == 300 * MS
    assert slow_start_time(7, every, initial=1) == (300 * MS, 4)
    assert transfer_latency(7, 0.0, every, delayed_ack_ns=100 * MS) == 400 * MS
    assert transfer_latency(7, 0.0, every, initial=7, delayed_ack_ns=100 * MS) == 100 * MS


def test_cardwell_with_a_window_that_is_full_continues_at_a_window_a_rtt():
    """Check flights of 1, 2, 4, 4, 4: 15 segments in five RTTs."""
    limited = Connection(rtt_ns=100 * MS, timeout_ns=S, acked=1, max_window=4)
    assert transfer_latency(15, 0.0, limited) == 500 * MS


def test_cardwell_of_a_lossless_handshake_is_a_rtt():
    assert handshake_time(0, 0, rtt_ns=100 * MS) == 100 * MS
    # (0.9 / 0.8 - 1) * 3 s in one direction.
    assert handshake_time(0.1, 0, rtt_ns=100 * MS) == 475 * MS


@given(st.integers(1, 10_000), LOSSES)
def test_cardwell_takes_longer_the_more_there_is_and_the_more_is_lost(segments, loss):
    assert slow_start_segments(segments, loss) <= min(segments, 1 / loss) + 1
    series = [transfer_latency(count, loss, PFTK) for count in (segments, segments + 1000, segments + 100_000)]
    assert all(later > earlier for earlier, later in pairwise(series))
    assert transfer_latency(segments + 100, loss, PFTK) > transfer_latency(segments + 100, 0.0, PFTK) * 0.99


def test_slow_start_that_nothing_limits_doubles():
    endless = Connection(rtt_ns=S, timeout_ns=S, acked=1, max_window=inf)
    assert slow_start_time(2**20 - 1, endless, initial=1)[0] == round(log2(2**20) * S)
