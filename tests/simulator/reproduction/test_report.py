"""Written report: self-contained, reproducible, with the measured figures."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from math import inf

import polars as pl
import pytest

from reference_sim.reproduction.experiment import Effort, Experiment
from reference_sim.reproduction.registry import claims_named, experiments
from reference_sim.reproduction.report import words, write_report
from reference_sim.reproduction.runner import reproduce
from reference_sim.reproduction.store import Store
from reference_sim.reproduction.verdict import Comparison, Mean, judged

from . import examples

VOID = {"meta", "link", "br", "img", "input", "hr"}
PAGE_LIMIT = 5_000_000


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("results")) as store:
        return reproduce([experiments()[claim] for claim in claims_named(["heidemann"])], store=store)


@pytest.fixture(scope="module")
def folder(outcomes, tmp_path_factory):
    made = tmp_path_factory.mktemp("report")
    assert write_report(outcomes, made, effort=Effort()) == []
    return made


class Checker(HTMLParser):
    """Parser that checks nesting of tags, unique names, and targets of references."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.references: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.names.append(value)
            if name in {"href", "src", "xlink:href", "srcset", "action", "data"}:
                self.references.append(value)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(path):
    checker = Checker()
    checker.feed(path.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    return checker


@pytest.mark.parametrize("name", ["index.html", "heidemann-1996.html"])
def test_a_page_needs_no_script_no_network_and_no_other_file(folder, name):
    page = checked(folder / name)
    text = (folder / name).read_text(encoding="utf-8")
    assert not page.tags & {"script", "iframe", "object", "embed", "img"}
    assert not re.search(r"@import|url\((?!#)", text)
    pages = {path.name for path in folder.glob("*.html")}
    for reference in page.references:
        assert reference.startswith("#") or reference == "data:," or reference.partition("#")[0] in pages, (
            reference
        )
    assert len(text.encode()) < PAGE_LIMIT


def test_every_name_on_a_page_is_there_once_and_every_reference_meets_one(folder):
    named = {path.name: checked(path).names for path in folder.glob("*.html")}
    assert all(len(names) == len(set(names)) for names in named.values())
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        for reference in checked(path).references + [f"#{name}" for name in re.findall(r"url\(#([^)]+)\)", text)]:
            other, _, name = reference.partition("#")
            assert not name or name in named[other or path.name], reference


def test_a_page_has_every_claim_with_its_words_and_figures(folder, outcomes):
    text = (folder / "heidemann-1996.html").read_text(encoding="utf-8")
    for outcome in outcomes:
        assert f'<section id="{outcome.claim.id}">' in text
        assert outcome.claim.where in text
        section = text.partition(f'<section id="{outcome.claim.id}">')[2].partition("</section>")[0]
        assert section.count('<th scope="row">') == len(outcome.judgement.comparisons)
    assert text.count("<figure ") == len(list((folder / "charts").iterdir())) == 5


def test_tables_hold_the_comparisons_in_both_formats(folder, outcomes):
    for outcome in outcomes:
        frame = pl.read_parquet(folder / "tables" / f"{outcome.claim.id}.parquet")
        assert frame["ours"].to_list() == [one.ours.value for one in outcome.judgement.comparisons]
        assert frame["verdict"].to_list() == [str(one.verdict) for one in outcome.judgement.comparisons]
        written = pl.read_csv(folder / "tables" / f"{outcome.claim.id}.csv", schema=frame.schema)
        assert written.equals(frame)
    summary = pl.read_csv(folder / "summary.csv")
    assert summary["claim"].to_list() == [one.claim.id for one in outcomes]
    of = ("figures_reproduced", "figures_in_shape", "figures_not_reproduced")
    assert (summary.select(of).sum_horizontal() == summary["figures"]).all()


def test_the_same_results_give_the_same_bytes(folder, outcomes, tmp_path):
    write_report(outcomes, tmp_path, effort=Effort())
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert all((folder / path).read_bytes() == (tmp_path / path).read_bytes() for path in files)


def test_charts_take_the_colour_of_the_text_on_a_page_and_have_their_own_alone(folder):
    assert "currentColor" in (folder / "heidemann-1996.html").read_text(encoding="utf-8")
    for path in (folder / "charts").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "currentColor" not in text
        assert "#010203" not in text
        assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def test_failures_are_on_the_page_and_break_nothing(tmp_path):
    def no_chart(results):
        raise ValueError("nothing to <draw>")

    fine = examples.experiment("H1")
    undrawn = Experiment(claim="H1", runs=fine.runs, judge=fine.judge, charts=no_chart)
    with Store(tmp_path / ".results") as store:
        outcomes = reproduce([undrawn, examples.experiment("H2", examples.raises)], store=store)
    (failure,) = write_report(outcomes, tmp_path, effort=Effort(seeds=2, quick=True))
    assert failure.label == "the charts of H1"
    checked(tmp_path / "heidemann-1996.html")
    text = (tmp_path / "heidemann-1996.html").read_text(encoding="utf-8")
    assert "Could not run run 0: ValueError: no such figure" in text
    assert "nothing to &lt;draw&gt;" in text
    assert pl.read_csv(tmp_path / "tables" / "H2.csv").height == 0


def compared(published, ours, **more):
    options = {"what": "x", "unit": "ms", "tolerance": 0.15, "shape_tolerance": 0.5} | more
    return Comparison(published=published, ours=ours, **options)


def test_figures_in_words():
    assert words.figure(42.8384) == "42.84"
    assert words.figure(-12345.6) == "\N{MINUS SIGN}12\N{NARROW NO-BREAK SPACE}346"
    assert words.figure(0.00012345) == "0.0001234"
    assert words.figure(-1.665e-16) == "0"
    assert words.ratio(compared(0.03, Mean(-0.2346))) == "\N{MINUS SIGN}7.820"
    assert words.published(compared((170, 190), Mean(1))) == "170 to 190"
    assert words.published(compared((1, inf), Mean(1))) == "≥ 1"
    assert words.published(compared((-inf, 1), Mean(1))) == "≤ 1"
    assert words.published(compared((1, 1), Mean(1))) == "1"
    assert words.ratio(compared(43.0, Mean(42.8384))) == "0.996"
    assert words.interval(Mean(5, 4, 6)) == "± 1"
    assert words.tolerances(compared(1, Mean(1))) == "± 15 %, ± 50 %"
    assert words.tolerances(compared(1, Mean(1), absolute=True, tolerance=5, shape_tolerance=20)) == "± 5, ± 20"
    assert words.tolerances(compared(1, Mean(1), tolerance=0, shape_tolerance=0)) == "exact"
    assert judged([compared(1, Mean(1))]).rule.endswith("of 1 here 1 and 1")
