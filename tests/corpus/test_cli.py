"""Command ``corpus``, and datasets in place of captures."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

import tcptrace_http
from tcptrace_http.cli.main import run
from tcptrace_http.corpus import add_captures, plan
from tests.corpus.captures import SAMPLES, small_captures
from tests.corpus.inline import Deadly, Inline

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    small_captures(folder, 3)
    return folder


@pytest.fixture(scope="module")
def dataset(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("made") / "week")
    add_captures([folder, SAMPLES / "objects_nginx_curl.pcap"], into=made, executor=Inline())
    return made


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(list(arguments))
    out, err = capfd.readouterr()
    return code, out, err


def test_add_status_and_seal(capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    made = str(tmp_path / "week")
    code, out, err = printed(capfd, "corpus", "add", str(folder), "--into", made, "--jobs", "1")
    assert (code, err) == (0, "")
    assert "3 captures" in out
    assert printed(capfd, "corpus", "add", str(folder), "--into", made)[1].startswith(f"{made}: 0 units")
    state = json.loads(printed(capfd, "corpus", "status", made, "--json")[1])
    assert {unit["status"] for unit in state["units"]} == {"ok"}
    assert printed(capfd, "corpus", "seal", made)[0] == 0
    assert "ok" in printed(capfd, "corpus", "status", made)[1]
    assert printed(capfd, "corpus", "retry", made)[0] == 0


def test_failures_are_named_and_set_the_exit_code(
    capfd: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = str(tmp_path / "week")
    bad = tmp_path / "bad.pcap"
    bad.write_bytes(b"no capture at all, but a text")
    assert printed(capfd, "corpus", "add", str(bad), "--into", made, "--jobs", "1")[0] == 2
    code, _, err = printed(capfd, "corpus", "add", str(folder), str(bad), "--into", made, "--jobs", "1")
    assert (code, err) == (0, ""), "what failed before is not tried again"
    assert "it begins with" in printed(capfd, "corpus", "status", made, "--failed")[1]
    monkeypatch.setattr(plan, "BATCH_CAPTURES", 1)
    add_captures([folder], into=tmp_path / "other", executor=Deadly(str(folder / "run-1.pcap")))
    out = printed(capfd, "corpus", "status", str(tmp_path / "other"))[1]
    assert "poisonous" in out
    assert "run-1.pcap" in out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["corpus", "status", "/nowhere"], "is no dataset"),
        (["corpus", "add", "/nowhere/*.pcap", "--into", "{new}"], "no file matches"),
        (["corpus", "add", "{folder}", "--into", "{new}", "--shard", "4/4"], "write I/N"),
        (["corpus", "add", "{folder}", "--into", "{folder}"], "has other files"),
        (["diff", "{dataset}", "{folder}/run-0.pcap"], "compared with a dataset"),
        (["plot", "rtt", "{dataset}", "-o", "{new}.svg"], "has no segments"),
        (["analyze", "{dataset}@noon..", "--format", "csv"], "is no time"),
        (["analyze", "{dataset}", "--format", "csv", "--table", "segments"], "no table of a dataset"),
        (["analyze", "{dataset}", "--where", "colour = 1"], "cannot select"),
    ],
)
def test_errors_give_a_remedy(
    capfd: pytest.CaptureFixture[str], arguments: list[str], what: str, dataset: str, folder: Path, tmp_path: Path
) -> None:
    given = [one.format(dataset=dataset, folder=folder, new=tmp_path / "new") for one in arguments]
    code, _, err = printed(capfd, *given)
    assert code == 2
    assert what in " ".join(err.split())


def test_analyze_selects_from_a_dataset(capfd: pytest.CaptureFixture[str], dataset: str) -> None:
    alone = tcptrace_http.analyze(SAMPLES / "objects_nginx_curl.pcap").where("status = 304")
    assert not alone.transactions.is_empty()
    out = printed(capfd, "analyze", dataset, "--where", "status = 304", "--format", "csv")[1]
    rows = list(csv.DictReader(out.splitlines()))
    assert [row["target"] for row in rows] == alone.transactions["target"].to_list()
    assert {row["capture"] for row in rows} == {str(SAMPLES / "objects_nginx_curl.pcap")}
    told = json.loads(printed(capfd, "analyze", dataset, "--where", "status = 304", "--format", "json")[1])
    assert len(told["transactions"]) == alone.transactions.height
    assert len(told["findings"]) == alone.findings.height
    text = printed(capfd, "analyze", dataset)[1]
    assert f"{dataset}\n" in text


def test_a_part_of_the_time_is_named_behind_the_dataset(capfd: pytest.CaptureFixture[str], dataset: str) -> None:
    whole, early, late = (
        len(printed(capfd, "analyze", part, "--format", "csv", "--table", "flows")[1].splitlines()) - 1
        for part in (dataset, f"{dataset}@..2000-01-01", f"{dataset}@2000-01-01..")
    )
    assert 0 < early < whole
    assert whole == early + late


def test_check_judges_every_capture_and_names_it(capfd: pytest.CaptureFixture[str], dataset: str) -> None:
    code, out, _ = printed(capfd, "check", dataset, "--output-format", "json")
    assert code == 1
    report = json.loads(out)
    captures = {one["capture"] for one in report["outcomes"] for one in one.get("violations", [])}
    assert any("run-0.pcap" in str(one) for one in captures), "the capture, not the dataset"


def test_plot_and_diff_read_its_tables(capfd: pytest.CaptureFixture[str], dataset: str, tmp_path: Path) -> None:
    chart = tmp_path / "waits.json"
    assert printed(capfd, "plot", "wait-distribution", dataset, "-o", str(chart))[0] == 0
    assert '"group": "stall"' in chart.read_text()
    code, out, _ = printed(capfd, "diff", f"{dataset}@..2000-01-01", f"{dataset}@2000-01-01..")
    assert code == 0
    assert "short-initial-segment" in out
    sides = json.loads(printed(capfd, "diff", dataset, dataset, "--format", "json")[1])
    assert {**sides["left"]} == {**sides["right"]}
