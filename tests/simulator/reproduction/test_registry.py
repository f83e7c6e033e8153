"""Registry: every claim has its experiment."""

import tomllib
from importlib.resources import files

import pytest

from reference_sim.reproduction.claim import PAPERS, TITLES, claims
from reference_sim.reproduction.registry import claims_named, experiments, names
from tcptrace_http.errors import UnknownName


def test_every_claim_has_exactly_one_experiment():
    assert len(claims()) == 69
    assert list(experiments()) == list(claims())


def test_an_experiment_is_found_under_its_own_claim():
    assert all(experiment.claim == claim for claim, experiment in experiments().items())


def test_names_ask_for_claims_each_once_and_in_their_order():
    assert claims_named(["H2", "h1", "H2"]) == ["H1", "H2"]
    assert claims_named(["heidemann", "heidemann-1996", "H1"]) == [f"H{number}" for number in range(1, 12)]
    assert claims_named(["all"]) == list(claims())
    assert {claim for name in names() for claim in claims_named([name])} == set(claims())


def test_an_unknown_name_suggests_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean 'heidemann'"):
        claims_named(["heideman"])
    with pytest.raises(UnknownName, match="E1"):
        claims_named(["Z99"])


def test_omissions_have_a_paper_and_a_reason():
    text = files("reference_sim.papers").joinpath("left_out.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["left_out"]
    assert rows
    assert all(row["paper"] in TITLES and row["what"] and row["why"] for row in rows)


def test_every_paper_has_a_title():
    assert list(TITLES) == list(PAPERS.values())
    assert {claim.paper for claim in claims().values()} == set(TITLES)
