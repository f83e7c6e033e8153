"""Pages of the papers as data, and pages from a HAR file or a captured retrieval.

If a paper publishes only counts and totals, the sizes of single objects are a documented choice
(:data:`KRUSE_SPLITS`, :func:`spread`). Vary the choice to see its effect.

>>> from reference_sim.pages import page
>>> [int(expected(part.size)) for part in page("heidemann").objects]
[6651, 3883, 1866]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.names import named
from reference_sim.page import Object, Page, Pareto, constant, image, objects_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KRUSE_SPLITS", "PAGES", "eggert", "kruse", "page", "sized", "spread", "thesis"]

_KIB: Final = 1024
_KB: Final = 1000


def spread(count: int, low: int, high: int) -> tuple[int, ...]:
    """Return ``count`` sizes spread evenly over a range: the middles of its ``count`` equal parts."""
    return tuple(low + (high - low) * (2 * number + 1) // (2 * count) for number in range(count))


def sized(name: str, base: int, *inlines: int, about: str = "", source: str = "") -> Page:
    """Return a page from the sizes of the base document and of the images."""
    return Page(name=name, objects=objects_of(base, *inlines), about=about, source=source)


# Pareto: the middles of the ranges that Mah 1997 found, minimum 1 kB (Gürkan 1998, section 3.1). The text
# gives no caps: 15000 is a size in its Table 4.5, 25000 is inferred from its totals.
_THESIS_LEAST: Final = 1000.0
_THESIS_PRIMARY_SHAPE: Final = 0.91
_THESIS_INLINE_SHAPE: Final = 1.24
_THESIS_INLINES: Final = 3


def thesis(*, primary_cap: int = 15_000, inline_cap: int = 25_000) -> Page:
    """Return the thesis's document: a primary file and three inline files, with Pareto sizes."""
    primary = Pareto(scale=_THESIS_LEAST, shape=_THESIS_PRIMARY_SHAPE, max=primary_cap)
    inline = Pareto(scale=_THESIS_LEAST, shape=_THESIS_INLINE_SHAPE, max=inline_cap)
    inlines = (
        Object(target=f"/images/{number}.gif", content_type="image/gif", size=inline)
        for number in range(1, _THESIS_INLINES + 1)
    )
    return Page(
        name="thesis",
        objects=(Object(target="/", content_type="text/html", size=primary), *inlines),
        about="Primary file and three inline files, Pareto sizes with caps, drawn anew for each visit",
        source="Gürkan 1998, section 3.1: k 1000 B, shapes 0.91 and 1.24; cap 15000 in its Table 4.5, "
        "25000 inferred",
    )


#: Sizes in KB (1024 bytes) of the base document and the images, for each page of Kruse 2001. Only counts and
#: totals are published. "documented" is our choice from the paper's description of each page. "equal" and
#: "one-large" bound the choice.
KRUSE_SPLITS: Final[Mapping[str, Mapping[str, tuple[int, ...]]]] = {
    "documented": {
        # "Dominated by one large image".
        "lerc": (4, 36, 5, 3),
        # "Dominated by a small number of large images".
        "acts": (6, 30, 25, 15, 8, 6, 4, 3, 2),
        # "Has a large amount of data"; the number of objects is that of acts.
        "oufr": (10, 120, 90, 75, 60, 50, 40, 25, 15, 6),
        # 28 elements, 28 KB.
        "test": (1,) * 28,
    },
    "equal": {
        "lerc": (12,) * 4,
        "acts": (11,) * 9,
        "oufr": (50, *(49,) * 9),
        "test": (1,) * 28,
    },
    "one-large": {
        "lerc": (1, 45, 1, 1),
        "acts": (1, 91, *(1,) * 7),
        "oufr": (1, 482, *(1,) * 8),
        "test": (1,) * 28,
    },
}
_KRUSE_TITLES: Final = {
    "lerc": "4 elements, 48 KB",
    "acts": "9 elements, 99 KB",
    "oufr": "10 elements, 491 KB",
    "test": "28 elements, 28 KB",
}


def kruse(name: str, *, split: str = "documented") -> Page:
    """Return one of the four pages of Kruse 2001: lerc, acts, oufr, test.

    :raises ScenarioError: the page is unknown, or the split is not in :data:`KRUSE_SPLITS`.
    """
    sizes = named(named(KRUSE_SPLITS, split, what="split"), name, what="page")
    return sized(
        f"kruse-{name}",
        *(size * _KIB for size in sizes),
        about=f"{_KRUSE_TITLES[name]}: {', '.join(map(str, sizes))} KB",
        source=f"Kruse 2001, Table 1; sizes of single elements: {split} split of ours",
    )


def _html(target: str, size: int, *, found_in: int = 0) -> Object:
    return Object(target=target, content_type="text/html", size=constant(size), found_in=found_in)


def _images(sizes: tuple[int, ...], *, found_in: int = 0) -> tuple[Object, ...]:
    return tuple(
        Object(target=f"/images/{number}.gif", content_type="image/gif", size=constant(size), found_in=found_in)
        for number, size in enumerate(sizes, start=1)
    )


def _java(sizes: tuple[int, ...]) -> tuple[Object, ...]:
    return tuple(
        Object(target=f"/classes/{number}.class", content_type="application/java-vm", size=constant(size))
        for number, size in enumerate(sizes, start=1)
    )


def _kib(count: int, low: int, high: int) -> tuple[int, ...]:
    return spread(count, low * _KIB, high * _KIB)


def _frames() -> tuple[Object, ...]:
    """Return the frame set is the first, small part; the large part links to the images."""
    first, *small = _kib(4, 1, 2)
    frames = [_html(f"/frame{number}.html", size) for number, size in enumerate(small, start=1)]
    frames += [_html("/frame4.html", 7 * _KIB), _html("/frame5.html", 83 * _KIB)]
    return (_html("/", first), *frames, *_images(_kib(14, 1, 3) + _kib(7, 5, 19), found_in=len(frames)))


def eggert(name: str) -> Page:
    """Return one of the five pages of Eggert 1999: text, map, graphics, frames, java.

    Sizes are spread evenly over the published ranges; 1K is 1024 bytes. Images are in published order, except
    the map's large image, which is first: a limit of four connections does not delay it (section 4.2).

    :raises ScenarioError: the page is unknown.
    """
    objects = {
        "text": (_html("/", 29 * _KIB), *_images(_kib(3, 7, 13))),
        "map": (_html("/", 5 * _KIB), *_images((67 * _KIB, *_kib(3, 1, 3)))),
        "graphics": (_html("/", 7 * _KIB), *_images(_kib(9, 1, 3) + _kib(4, 9, 12))),
        "frames": _frames(),
        "java": (
            _html("/", 8 * _KIB),
            *_images(_kib(7, 1, 2) + _kib(3, 4, 11)),
            *_java(_kib(14, 1, 3) + _kib(11, 4, 18)),
        ),
    }
    chosen = named(objects, name, what="page")
    return Page(
        name=f"eggert-{name}",
        objects=chosen,
        about=f"{len(chosen)} objects of HTML, images and Java" if name == "java" else f"{len(chosen)} objects",
        source="Eggert 1999, section 4; sizes evenly spread over the published ranges",
    )


# Object sizes of OPNET (Bhalekar 2003, section 4.2.2).
_SMALL: Final = 500
_MEDIUM: Final = 5 * _KB
_LARGE: Final = 50 * _KB


def _bhalekar() -> list[Page]:
    source = "Bhalekar 2003, section 4.2.2"
    made = [
        sized(
            "espn",
            50 * _KB,
            *(_SMALL,) * 20,
            *(3 * _KB,) * 30,
            about="50 embedded objects, 50 kB of base document and 100 kB of images",
            source="Bhalekar 2003, sections 4.4 (50 objects) and 5.5 (50 + 100 kB); the split is ours: "
            "20 small ones of 500 B, 30 of 3 kB",
        ),
        sized("one-large", _LARGE, about="A single large object", source=source),
        sized("fifty-small", _SMALL, *(_SMALL,) * 50, about="50 small objects of 500 B", source=source),
    ]
    # "12 other web-pages were created by varying the number of objects and their sizes".
    made += [
        sized(
            f"bhalekar-{count}-{size_name}",
            _MEDIUM,
            *(size,) * count,
            about=f"{count} objects of {size} B in a document of 5 kB",
            source=f"{source}; the numbers are ours",
        )
        for size_name, size in (("small", _SMALL), ("medium", _MEDIUM), ("large", _LARGE))
        for count in (1, 5, 10, 25)
    ]
    return made


#: Every page by name.
PAGES: Final[Mapping[str, Page]] = {
    known.name: known
    for known in (
        sized(
            "heidemann",
            6651,
            3883,
            1866,
            about="The front page of Yahoo on 1 May 1996: a document and two images",
            source="Heidemann 1996, section 2.1",
        ),
        thesis(),
        sized(
            "golden",
            6651,
            3883,
            1866,
            1128,
            about="The document of the exact ns-2 timelines: a primary file and three inline files",
            source="the sizes of Heidemann 1996, and one of Gürkan 1998, Table 4.1",
        ),
        *(kruse(name) for name in _KRUSE_TITLES),
        *(eggert(name) for name in ("text", "map", "graphics", "frames", "java")),
        *_bhalekar(),
        Page(
            name="empty",
            objects=(image("/1.gif", 0),),
            about="One object without a body",
            source="the shortest response",
        ),
    )
}


def page(name: str) -> Page:
    """Return the page of this name.

    :raises ScenarioError: the name is unknown; the message gives the nearest name.
    """
    return named(PAGES, name, what="page")
