"""Small parts of the text report: numbers with units, columns that shrink."""

import pytest

from tcptrace_http.quantity import counted, duration, moment
from tcptrace_http.report.grid import Heading, clipped, grid, printable


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (None, "-"), (0, "0 ns"), (999, "999 ns"), (35_400, "35 µs"), (184_600_000, "184.6 ms"),
        (1_203_000_000, "1.20 s"), (61_000_000_000, "1 min 1 s"),
    ],
)  # fmt: skip
def test_duration_has_the_unit_that_suits_it(nanoseconds, shown):
    assert duration(nanoseconds) == shown


def test_moment_is_utc_to_the_millisecond():
    assert moment(1_700_000_000_123_456_789) == "2023-11-14 22:13:20.123 UTC"
    assert moment(-1) == "1969-12-31 23:59:59.999 UTC"


def test_one_is_singular():
    assert (counted(1, "flow"), counted(20_060, "flow")) == ("1 flow", "20,060 flows")


def test_elastic_columns_give_way_and_numbers_never():
    headings = (Heading("target", is_elastic=True), Heading("bytes", is_number=True))
    lines = grid(headings, [("/a/very/long/target/indeed", "1,234,567"), ("/b", "1")], 24)
    assert lines == ["target             bytes", "/a/very/…deed  1,234,567", "/b                     1"]


def test_optional_columns_are_left_out_before_any_is_cut():
    headings = (Heading("client", is_elastic=True), Heading("seen at", is_optional=True))
    assert grid(headings, [("10.0.0.1:1029", "client")], 24) == ["client         seen at", "10.0.0.1:1029  client"]
    assert grid(headings, [("10.0.0.1:1029", "client")], 20) == ["client", "10.0.0.1:1029"]


def test_clipped_text_keeps_its_ends():
    assert clipped("abcdefghij", 10) == "abcdefghij"
    assert clipped("abcdefghij", 7) == "abcd…ij"


def test_terminal_control_characters_are_escaped():
    assert printable("/\x1b[31mé\n\u202e") == "/\\x1b[31mé\\n\\u202e"
