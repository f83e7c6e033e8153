"""Bar charts shared by several papers' pages."""

from __future__ import annotations

from reference_sim.reproduction.drawing import bars

ROWS = [
    {"page": page, "of": of, "time, s": seconds}
    for page, both in (("two", (2.0, 2.1)), ("a", (1.0, 0.9)))
    for of, seconds in zip(("published", "ours"), both, strict=True)
]


def test_bars_stand_in_the_order_of_the_rows():
    drawn = bars(ROWS, category="page", value="time, s", group="of").to_dict()
    encoding = drawn["encoding"]
    assert encoding["y"]["sort"] == ["two", "a"]
    assert encoding["yOffset"]["sort"] == encoding["color"]["sort"] == ["published", "ours"]
    assert encoding["x"] == {"field": "time, s", "title": "time, s", "type": "quantitative"}
    (values,) = drawn["datasets"].values() if "datasets" in drawn else (drawn["data"]["values"],)
    assert values == ROWS


def test_bars_of_one_group_have_one_colour_and_no_legend():
    assert bars(ROWS[::2], category="page", value="time, s").to_dict()["encoding"].keys() == {"x", "y"}
