"""Waits of a sender with a reduced window: cwnd, or a send buffer that is no larger."""

from __future__ import annotations

from .runs import compared_run

_WINDOW_FOR_BUFFER = ("send_limited.cwnd", "send_limited.send_buffer")


def test_data_that_is_missing_may_have_filled_the_window_that_seems_to_have_room() -> None:
    # Two segments at a time, one of them lost: the other is visible, in a window that has grown to nearly
    # three.
    _, comparison = compared_run(1, 910, at="client")
    assert not comparison.confusion[_WINDOW_FOR_BUFFER]
    assert not [it for it in comparison.verdicts if it.detector == "small-send-buffer"]


def test_a_window_of_cubic_that_grows_by_half_a_segment_in_a_rtt_is_no_send_buffer() -> None:
    # The last segment of a page is short, but the window counts packets.
    _, comparison = compared_run(1, 130, at="client")
    assert not comparison.confusion[_WINDOW_FOR_BUFFER]
