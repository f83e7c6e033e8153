"""Alignment of exchanges that are missing, added, reordered or renamed."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.difference import alignment
from tcptrace_http.difference.alignment import Item, align

PAGE = [Item("GET", f"/{name}", size) for name, size in (("", 9000), ("a", 400), ("b", 3000), ("c", 52_000))]


def get(name, size):
    return Item("GET", name, size)


def test_equal_sequences_align_one_by_one():
    assert align(PAGE, PAGE) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_missing_item_is_on_one_side_only():
    assert align(PAGE, [PAGE[0], *PAGE[2:]]) == [(0, 0), (1, None), (2, 1), (3, 2)]


def test_extra_item_is_on_the_other_side_only():
    assert align(PAGE[:2], PAGE) == [(0, 0), (1, 1), (None, 2), (None, 3)]


def test_reordering_is_seen_through():
    assert align(PAGE, PAGE[::-1]) == [(0, 3), (1, 2), (2, 1), (3, 0)]


def test_renamed_item_is_found_by_its_place_and_size():
    other = [PAGE[0], get("/v2/a", 410), *PAGE[2:]]
    assert align(PAGE, other) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_renamed_and_reordered_items_are_found_by_their_sizes():
    other = [PAGE[0], get("/x", 52_000), get("/y", 3000), get("/z", 400)]
    assert align(PAGE, other) == [(0, 0), (1, 3), (2, 2), (3, 1)]


def test_another_item_in_the_same_place_is_not_the_same_one():
    assert align([get("/a", 100)], [get("/b", 100_000)]) == [(0, None), (None, 0)]


def test_same_name_aligns_for_any_size():
    assert align([get("/a", 100)], [get("/a", 100_000)]) == [(0, 0)]


def test_another_method_is_never_the_same_one():
    assert align([get("/a", 100)], [Item("POST", "/a", 100)]) == [(0, None), (None, 0)]


def test_repeated_name_aligns_by_size_if_one_is_missing():
    """Check a first response of another size (a 401, for example) that the other side lacks."""
    assert align([get("/a", 20), get("/a", 5000)], [get("/a", 5000)]) == [(0, None), (1, 0)]


def test_of_equals_the_first_are_aligned():
    assert align([get("/a", 5)] * 3, [get("/b", 5)]) == [(0, 0), (1, None), (2, None)]


def test_items_without_a_name_are_aligned_by_order_and_size():
    hidden = [Item("", "", size + 30) for size in (9000, 3000, 52_000)]
    assert align(PAGE, hidden) == [(0, 0), (1, None), (2, 1), (3, 2)]
    assert align(hidden, [hidden[0], hidden[2]]) == [(0, 0), (1, None), (2, 1)]


ITEMS = st.lists(
    st.builds(Item, st.sampled_from(["GET", "POST"]), st.sampled_from("abcd"), st.integers(0, 50)), max_size=12
)


@given(left=ITEMS, right=ITEMS)
def test_every_item_is_there_once(left, right):
    pairs = align(left, right)
    assert sorted(one for one, _ in pairs if one is not None) == list(range(len(left)))
    assert sorted(other for _, other in pairs if other is not None) == list(range(len(right)))
    assert all(
        left[one].kind == right[other].kind for one, other in pairs if one is not None and other is not None
    )


@given(left=ITEMS, right=ITEMS)
def test_as_many_align_the_other_way_round(left, right):
    def aligned(pairs):
        return sum(None not in pair for pair in pairs)

    assert aligned(align(left, right)) == aligned(align(right, left))


@given(items=ITEMS, seed=st.integers(0, 99))
def test_any_order_of_different_names_aligns_completely(items, seed):
    named = [Item(item.kind, f"{index}", item.size) for index, item in enumerate(items)]
    order = random.Random(seed).sample(range(len(named)), len(named))
    pairs = align(named, [named[index] for index in order])
    assert all(one is not None and other is not None and order[other] == one for one, other in pairs)


@pytest.mark.parametrize(("count", "missing"), [(60, 7), (90, 0)])
def test_long_sequences_align_near_their_diagonal_as_they_would_in_full(monkeypatch, count, missing):
    left = [get(f"/{index}", 1000 * index) for index in range(count)]
    right = [get(f"/new/{index}", 1000 * index) for index in range(count) if index != missing]
    full = align(left, right)
    monkeypatch.setattr(alignment, "_CELLS_MAX", 20 * count)
    assert align(left, right) == full
    assert sum(None not in pair for pair in full) == count - 1


@pytest.mark.slow
def test_ten_thousand_renamed_items_align_in_seconds_though_some_are_missing():
    sizes = random.Random(1)
    left = [get(f"/{index}", sizes.randrange(200, 60_000)) for index in range(10_000)]
    right = [get(f"/new/{index}", item.size) for index, item in enumerate(left) if index % 50]
    started = time.process_time()
    pairs = align(left, right)
    # 4.4 s of one core of 2020; a table of all prefixes would have 100 million cells.
    assert time.process_time() - started < 30
    assert [one for one, other in pairs if other is None] == list(range(0, 10_000, 50))
