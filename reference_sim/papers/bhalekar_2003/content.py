"""B13 and B14: deltas between similar documents, and further compression.

Section 3.5.1: deltas between addresses with the same prefix. Section 7.2.1: templates of dynamic documents.
Section 3.3: compression by modems, and of heads. Texts are measured; the savings of compressed heads are
simulated.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant, expected
from reference_sim.pages import page as page_named
from reference_sim.papers.bhalekar_2003.corpus import answers, corpus, heads
from reference_sim.papers.bhalekar_2003.deltas import compressed, copies
from reference_sim.papers.bhalekar_2003.scenarios import Access, page_time, repeated, retrieved
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reference_sim.page import Page
    from reference_sim.scenario import Scenario

__all__ = ["ALIKE", "HEADS_AND_MODEMS", "answer_bytes", "head_bytes", "modem_bytes"]

_MORE: Final = (1.0, inf)
_PAGE: Final = "espn"
#: As in gzip: smallest size, not highest speed.
_LEVEL: Final = 9
#: Block size that models V.42bis, which looks back no further than its dictionary.
_BLOCKS: Final = (512, 1024, 2048)
#: "Useful": a delta is less than half of its source (section 3.5.2).
_HALF: Final = 0.5
_STRATEGIES: Final = ("http11", "http11-pipelined")
_PLAIN: Final = "plain headers"
_SMALL: Final = "heads compressed"


@cache
def answer_bytes() -> Mapping[str, int]:
    """Return the bytes of the responses after the first, by encoding."""
    first, *others = answers()
    return {
        "whole": sum(len(one.document) for one in others),
        "gzip": sum(len(compressed(one.document.encode())) for one in others),
        "delta of another address": sum(
            len(compressed(copies(first.document.encode(), one.document.encode()))) for one in others
        ),
        "dynamic part": sum(len(compressed(one.dynamic.encode())) for one in others),
    }


@cache
def modem_bytes(block: int) -> tuple[int, int, int]:
    """Return the bytes of the corpus's documents: original, after a modem with these blocks, by gzip."""
    documents = [version.old.encode() for version in corpus()]
    modem = sum(
        min(len(zlib.compress(part, _LEVEL)), len(part))
        for document in documents
        for part in (document[at : at + block] for at in range(0, len(document), block))
    )
    return sum(map(len, documents)), modem, sum(len(compressed(document)) for document in documents)


@cache
def head_bytes() -> tuple[int, int, int]:
    """Return the bytes of a page's heads: original, compressed one by one, and as one stream."""
    texts = [head.encode() for head in heads(len(page_named(_PAGE).objects))]
    stream = zlib.compressobj(_LEVEL)
    as_one = sum(len(stream.compress(text) + stream.flush(zlib.Z_SYNC_FLUSH)) for text in texts)
    return sum(map(len, texts)), sum(len(compressed(text)) for text in texts), as_one


def _judge_alike(results: Results) -> Judgement:
    del results
    sizes = answer_bytes()
    whole = sizes["whole"]
    return judged(
        [
            *(
                Comparison(
                    what=f"bytes of responses with the same prefix, {way} over complete",
                    unit="ratio",
                    published=(0.0, _HALF),
                    ours=Mean(sizes[way] / whole),
                    tolerance=0.0,
                    shape_tolerance=0.0,
                    neutral=1.0,
                )
                for way in ("delta of another address", "dynamic part")
            ),
            *(
                Comparison(
                    what=f"bytes of such responses, gzip over {way}",
                    unit="ratio",
                    published=_MORE,
                    ours=Mean(sizes["gzip"] / sizes[way]),
                    tolerance=0.0,
                    shape_tolerance=0.0,
                )
                for way in ("delta of another address", "dynamic part")
            ),
        ],
        remarks="Twenty documents for queries of one address: one frame, three stories each, 4 kB (assumed). A"
        " delta is relative to the first response. With a template the markup is cached, and only the text is"
        " sent. Both are compressed. The pages of B6 have 50 kB and share no story: there a delta saves no"
        " more than gzip.",
    )


def _with_heads(page: Page, head: int) -> Page:
    """Return the page with heads of this size included in its object sizes."""
    parts = (replace(part, size=Constant(value=round(expected(part.size)) + head)) for part in page.objects)
    return page.with_objects(tuple(parts), name=f"{page.name}, headers of {head} B")


def _scenario(strategy: str, head: int) -> Scenario:
    made = retrieved(strategy, _with_heads(page_named(_PAGE), head), access=Access.END_TO_END)
    servers = tuple(replace(server, sizes_include_heads=True) for server in made.servers)
    return replace(made, servers=servers)


def _head_runs(effort: Effort) -> Iterable[Run]:
    plain, _, as_one = head_bytes()
    count = len(page_named(_PAGE).objects)
    for strategy in _STRATEGIES:
        for name, size in ((_PLAIN, plain), (_SMALL, as_one)):
            yield from repeated(effort, f"{strategy}, {name}", _scenario(strategy, size // count), page_time)


def _judge_heads(results: Results) -> Judgement:
    plain, alone, as_one = head_bytes()
    comparisons = [
        Comparison(
            what=f"bytes of text by a modem with blocks of {block} B over those by gzip",
            unit="ratio",
            published=_MORE,
            ours=Mean(modem / gzip),
            tolerance=0.0,
            shape_tolerance=0.0,
        )
        for block in _BLOCKS
        for _, modem, gzip in (modem_bytes(block),)
    ]
    comparisons += [
        Comparison(
            what=f"bytes of headers over those {how}",
            unit="ratio",
            published=_MORE,
            ours=Mean(plain / size),
            tolerance=0.0,
            shape_tolerance=0.0,
        )
        for how, size in (("compressed one by one", alone), ("compressed as one stream", as_one))
    ]
    comparisons += [
        Comparison(
            what=f"page time with plain headers over that with compressed ones, {strategy}",
            unit="ratio",
            published=_MORE,
            ours=Mean(
                results.value(f"{strategy}, {_PLAIN}", "page_s") / results.value(f"{strategy}, {_SMALL}", "page_s")
            ),
            tolerance=0.0,
            shape_tolerance=0.02,
        )
        for strategy in _STRATEGIES
    ]
    return judged(
        comparisons,
        remarks=f"Headers as Apache 1.3 writes them, {plain // len(page_named(_PAGE).objects)} B each."
        f" Compressed one by one they keep {alone / plain:.0%}, as one stream {as_one / plain:.0%}. The model"
        " of a modem is deflate in small blocks. The page has 51 objects; its connection runs end to end over"
        " the satellite.",
    )


def _no_runs(_: Effort) -> Iterable[Run]:
    return ()


#: Sections 3.5.1 and 7.2.1.
ALIKE: Final = Experiment(claim="B13", runs=_no_runs, judge=_judge_alike)
#: Section 3.3.
HEADS_AND_MODEMS: Final = Experiment(claim="B14", runs=_head_runs, judge=_judge_heads)
