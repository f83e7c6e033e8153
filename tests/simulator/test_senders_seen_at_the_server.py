"""Captures at the server: a sender's own clock, the bottleneck, and a full buffer."""

from __future__ import annotations

from .runs import compared_run

_LINK = "send_limited.bottleneck"


def test_data_that_a_clock_lets_go_before_the_first_ack_waits_for_the_pace() -> None:
    # E-TCP paces data after a pause, and answers a SYN's request before any ACK.
    _, comparison = compared_run(1, 1318, at="server")
    told = {cause: length for (true, cause), length in comparison.confusion.items() if true == _LINK}
    assert told[_LINK] > 0.95 * sum(told.values())


def test_a_link_that_stays_busy_is_known_by_acks_of_one_segment_each() -> None:
    # At 56 kb/s, the queue at the link outlasts the timer, which retransmits everything.
    _, comparison = compared_run(1, 1185, at="server")
    told = {cause: length for (true, cause), length in comparison.confusion.items() if true == _LINK}
    assert told[_LINK] > 0.8 * sum(told.values())


def test_a_window_that_doubled_up_to_the_send_buffer_waits_for_that() -> None:
    _, comparison = compared_run(1, 410, at="server")
    buffer = "send_limited.send_buffer"
    told = {cause: length for (true, cause), length in comparison.confusion.items() if true == buffer}
    assert told[buffer] > 0.9 * sum(told.values())
