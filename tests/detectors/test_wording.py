"""Sentences of findings: singular and plural agree with their counts."""

from __future__ import annotations

import polars as pl

from tcptrace_http.detectors._wording import by_number, counted, times


def said(words: pl.Expr) -> list[str | None]:
    return pl.DataFrame({"count": [0, 1, 2, None]}).select(words).to_series().to_list()


def test_a_noun_is_in_the_plural_but_for_one():
    assert said(counted("count", "gap")) == ["0 gaps", "1 gap", "2 gaps", None]


def test_a_count_may_be_an_expression():
    assert said(counted(pl.col("count").fill_null(1), "packet"))[3] == "1 packet"


def test_repeated_sightings_count_once():
    assert said(times("count")) == ["0 times", "once", "2 times", None]


def test_a_verb_goes_by_the_count():
    assert said(by_number("count", "was", "were"))[:3] == ["were", "was", "were"]
