"""Identity of runs: equal for equal runs, different for different runs."""

from dataclasses import replace

from reference_sim.papers.heidemann_1996 import table_1
from reference_sim.papers.heidemann_1996.restarts import second_visit
from reference_sim.reproduction import identity as module
from reference_sim.reproduction.identity import canonical, engine, identity, measure_name
from reference_sim.workloads import heidemann
from tcptrace_http._version import __version__

from .examples import STRATEGY

SCENARIO = heidemann(strategy=STRATEGY, retrievals=1)


def of(scenario=SCENARIO, measure=table_1.retrieval_times):
    return identity(canonical(scenario.document()), measure)


def test_equal_scenarios_and_measures_are_the_same_run():
    assert of() == of(heidemann(strategy=STRATEGY, retrievals=1))
    document = SCENARIO.document()
    assert identity(canonical(dict(reversed(document.items()))), table_1.retrieval_times) == of()


def test_another_seed_scenario_measure_or_engine_is_another_run(monkeypatch):
    others = {
        of(replace(SCENARIO, seed=2)),
        of(heidemann(strategy=STRATEGY, retrievals=2)),
        of(measure=second_visit),
    }
    monkeypatch.setattr(module, "engine", lambda: "0.0 of another build")
    others.add(of())
    monkeypatch.undo()
    assert len(others | {of()}) == 5


def test_a_changed_source_of_a_measure_or_its_imports_is_another_run(monkeypatch):
    changed = {of()}
    for name in (table_1.__name__, "reference_sim.reproduction.readings"):
        sources = {name: module._source(name) + b"\n# changed\n"}
        monkeypatch.setattr(
            module,
            "_source",
            lambda requested, known=sources, read=module._source: known.get(requested) or read(requested),
        )
        module._digest_of.cache_clear()
        changed.add(of())
        monkeypatch.undo()
        module._digest_of.cache_clear()
    assert len(changed) == 3


def test_a_measure_is_identified_by_its_location():
    assert measure_name(table_1.retrieval_times) == "reference_sim.papers.heidemann_1996.table_1:retrieval_times"
    assert engine().startswith(f"{__version__} ")
