"""Policy files: their meaning, and their error messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.check import Level, load_policy, parse_policy, preset
from tcptrace_http.check.metrics import METRICS
from tcptrace_http.check.policy import Aggregation, CutShort, LostLimit, Policy, Traits
from tcptrace_http.check.policy_file import PRESETS
from tcptrace_http.detectors import DETECTORS
from tcptrace_http.errors import PolicyError

STALL = "short-initial-segment"


def test_rule_is_a_level_or_a_level_with_options():
    rules = parse_policy(
        """
        [rules]
        short-initial-segment = "error"
        cork-timeout = ["warn", { max = 2, max-ms = "2*rtt", min-confidence = 0.8, structure = true }]
        nagle-hold = ["warning"]
        tail-loss = ["error", { max-ms = 12.5, min-confidence = "80%" }]
        zero-window = ["error", { max-ms = "40ms" }]
        """
    ).rules
    assert rules[STALL].level is Level.ERROR
    assert rules["nagle-hold"].level is Level.WARNING
    cork = rules["cork-timeout"]
    assert (cork.level, cork.max, cork.min_confidence, cork.structure) == (Level.WARNING, 2, 0.8, True)
    assert cork.max_lost == LostLimit(round_trips=2.0)
    assert rules["tail-loss"].max_lost == LostLimit(ns=12_500_000)
    assert rules["tail-loss"].min_confidence == 0.8
    assert rules["zero-window"].max_lost == LostLimit(ns=40_000_000)


def test_star_is_every_detector_that_the_table_does_not_name():
    rules = parse_policy('[rules]\n"*" = "warn"\nzero-window = "off"').rules
    assert set(rules) == set(DETECTORS)
    assert rules["zero-window"].level is Level.OFF
    assert rules[STALL].level is Level.WARNING


@pytest.mark.parametrize(
    ("written", "aggregation", "percentile", "limit"),
    [
        ("p(95)<200ms", Aggregation.PERCENTILE, 95, 200e6),
        (" p( 99.9 ) <= 1.5s ", Aggregation.PERCENTILE, 99.9, 1.5e9),
        ("avg<10us", Aggregation.AVERAGE, 0, 10e3),
        ("med<1m", Aggregation.MEDIAN, 0, 60e9),
        ("min>5ns", Aggregation.MINIMUM, 0, 5),
        ("max==3ms", Aggregation.MAXIMUM, 0, 3e6),
        ("count>=10", Aggregation.COUNT, 0, 10),
    ],
)
def test_threshold_is_an_aggregate_a_comparison_and_a_limit(written, aggregation, percentile, limit):
    (found,) = parse_policy(f'[thresholds]\nttfb = ["{written}"]').thresholds
    assert (found.metric, found.aggregation, found.percentile, found.limit) == (
        "ttfb",
        aggregation,
        percentile,
        limit,
    )
    assert found.level is Level.ERROR


def test_threshold_may_have_a_level():
    for written in ('[["p(95)<5%", "warn"]]', '["p(95)<5%", "warn"]'):
        (found,) = parse_policy(f"[thresholds]\nstall_share = {written}").thresholds
        assert (found.level, found.limit) == (Level.WARNING, 0.05)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[rules]\nshort-inital-segment = "error"', 2, "did you mean 'short-initial-segment'?"),
        ('[rules]\n\n# a comment\ncork-timeout = "eror"', 4, "did you mean 'error'?"),
        ('[rules]\ncork-timeout = ["error", { maxms = 3 }]', 2, "did you mean 'max-ms'?"),
        ('[rules]\ncork-timeout = ["error", { max = -1 }]', 2, "0 or more"),
        ('[rules]\ncork-timeout = ["error", { max = true }]', 2, "0 or more"),
        ('[rules]\ncork-timeout = ["error", { max-ms = "long" }]', 2, "is no loss"),
        ('[rules]\ncork-timeout = ["error", { max-ms = -3 }]', 2, "is no loss"),
        ('[rules]\ncork-timeout = ["error", { max-ms = inf }]', 2, "is no loss"),
        ('[rules]\ncork-timeout = ["error", { max-ms = nan }]', 2, "is no loss"),
        ('[rules]\ncork-timeout = ["error", { min-confidence = 2 }]', 2, "is no share"),
        ('[rules]\ncork-timeout = ["error", { structure = "yes" }]', 2, "true or false"),
        ("[rules]\ncork-timeout = 3", 2, "a rule is a level"),
        ('[thresholds]\nttbf = ["p(95)<1s"]', 2, "did you mean 'ttfb'?"),
        ('[thresholds]\nttfb = ["p95<1s"]', 2, "is no threshold"),
        ('[thresholds]\nttfb = ["p(101)<1s"]', 2, "no percentile above 100"),
        ('[thresholds]\nttfb = ["p(95)<1%"]', 2, "is not a duration"),
        ('[thresholds]\nstall_share = ["p(95)<1s"]', 2, "is not a share"),
        ('[thresholds]\nttfb = [["p(95)<1s", "wran"]]', 2, "did you mean 'warn'?"),
        ("[thresholds]\nttfb = 3", 2, "a list is expected"),
        ('extend = "lan"', 1, "did you mean 'extends'?"),
        ('extends = "lann"', 1, "did you mean 'lan'?"),
        ('extends = "nowhere.toml"', 1, "there is no preset or file"),
        ("max-inconclusive = 7", 1, "is no share"),
        ("max-inconclusive = true", 1, "is no share"),
        ('cut-short = "failing"', 1, "did you mean 'failed'?"),
        ('[[match]]\nrules = { cork-timeout = "off" }', 1, "at least one of host"),
        ('[[match]]\npath = "/a"\n[[match]]\npth = "/b"', 4, "did you mean 'path'?"),
        ('[[match]]\npath = "/a"\n[match.rules]\ncork-timeot = "off"', 4, "did you mean 'cork-timeout'?"),
        ("[[match]]\nport = 70000", 2, "is no port"),
        ("[[match]]\nstatus = 999", 2, "is no status"),
        ('[[match]]\npath = "/a"\nthresholds = { ttfb = ["max<1x"] }', 3, "is not a duration"),
        ("[rules\n", 1, "no TOML"),
        ("a = 1\nb =", 2, "no TOML"),
        ('rules = "error"', 1, "rules is a table"),
        ("match = 3", 1, "a list is expected"),
        ("match = [3]", 1, "each match is a table"),
    ],
)
def test_error_names_file_line_and_the_nearest_name(tmp_path, text, line, said):
    path = tmp_path / "tcp.toml"
    path.write_text(text)
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert said in caught.value.what


def test_file_that_is_missing_or_no_text_is_reported(tmp_path):
    with pytest.raises(PolicyError, match="No such file"):
        load_policy(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'# \xe4\nextends = "lan"')
    with pytest.raises(PolicyError, match="not UTF-8"):
        load_policy(tmp_path / "latin.toml")
    (tmp_path / "own.toml").write_text('extends = "latin.toml"')
    with pytest.raises(PolicyError, match=r"own.toml:1: 'latin.toml' is not UTF-8"):
        load_policy(tmp_path / "own.toml")
    with pytest.raises(PolicyError, match="directory"):
        load_policy(tmp_path)


def test_policy_may_extend_presets_and_files(tmp_path):
    (tmp_path / "base.toml").write_text(
        'extends = "recommended"\n[rules]\ncork-timeout = "off"\n'
        '[thresholds]\nttfb = ["max<1s"]\nelapsed = ["max<2s"]'
    )
    (tmp_path / "own.toml").write_text(
        'extends = "base.toml"\n[rules]\ntail-loss = "warn"\n[thresholds]\nttfb = ["max<3s"]'
    )
    policy = load_policy(tmp_path / "own.toml")
    assert policy.rules[STALL] == preset("recommended").rules[STALL]
    assert policy.rules["cork-timeout"].level is Level.OFF
    assert policy.rules["tail-loss"].level is Level.WARNING
    assert {(one.metric, one.limit) for one in policy.thresholds} == {("ttfb", 3e9), ("elapsed", 2e9)}


def test_settings_absent_from_an_extending_file_stay(tmp_path):
    (tmp_path / "other.toml").write_text('[rules]\ntail-loss = "warn"')
    (tmp_path / "own.toml").write_text('extends = ["recommended", "other.toml"]')
    assert load_policy(tmp_path / "own.toml").max_inconclusive == preset("recommended").max_inconclusive == 0.5


def test_files_that_extend_each_other_are_reported(tmp_path):
    (tmp_path / "a.toml").write_text('extends = "b.toml"')
    (tmp_path / "b.toml").write_text('extends = "a.toml"')
    with pytest.raises(PolicyError, match="extends itself"):
        load_policy(tmp_path / "a.toml")


def test_error_in_an_extended_file_names_that_file(tmp_path):
    (tmp_path / "base.toml").write_text('[rules]\ncork = "error"')
    (tmp_path / "own.toml").write_text('\n\nextends = "base.toml"')
    with pytest.raises(PolicyError, match=r"base\.toml:2: there is no detector 'cork'"):
        load_policy(tmp_path / "own.toml")


def test_every_preset_can_be_read_and_names_rules():
    for name in PRESETS:
        assert preset(name).rules
    assert set(preset("strict").rules) == set(DETECTORS)
    assert preset("strict").max_inconclusive == 0
    with pytest.raises(PolicyError, match="did you mean 'satellite'"):
        preset("satelite")


def test_last_match_that_fits_has_the_last_word():
    policy = parse_policy(
        """
        cut-short = "ignored"
        [rules]
        cork-timeout = "error"
        [[match]]
        path = "/api/*"
        rules = { cork-timeout = "warn" }
        [[match]]
        path = "/api/slow"
        method = ["GET", "HEAD"]
        rules = { cork-timeout = "off" }
        """
    )
    assert policy.cut_short is CutShort.IGNORED
    levels = [
        policy.rule("cork-timeout", Traits(path=path, method=method)).level
        for path, method in [
            ("/", "GET"),
            ("/api/x", "GET"),
            ("/api/slow", "GET"),
            ("/api/slow", "POST"),
            (None, None),
        ]
    ]
    assert levels == [Level.ERROR, Level.WARNING, Level.OFF, Level.WARNING, Level.ERROR]


@pytest.mark.parametrize(
    ("match", "fits", "fits_not"),
    [
        ('host = "*.Example.com"', Traits(host="A.example.com"), Traits(host="example.org")),
        ('path = "/a?c"', Traits(path="/abc"), Traits(path="/ab")),
        ("port = [80, 8080]", Traits(port=8080), Traits(port=81)),
        ('status = ["5xx", 404]', Traits(status=503), Traits(status=403)),
        ('status = ["5xx", 404]', Traits(status=404), Traits()),
        ('method = "GET"', Traits(method="GET"), Traits(method="PUT")),
    ],
)
def test_match_fits_by_each_trait(match, fits, fits_not):
    (one,) = parse_policy(f'[[match]]\n{match}\nrules = {{ cork-timeout = "off" }}').matches
    assert one.fits(fits)
    assert not one.fits(fits_not)


def test_only_selected_rows_are_left():
    policy = parse_policy(
        '[rules]\ncork-timeout = "error"\ntail-loss = "error"\n'
        '[thresholds]\nttfb = ["max<1s"]\nelapsed = ["max<1s"]\n'
        '[[match]]\npath = "/x"\nrules = { cork-timeout = "off", tail-loss = "off" }'
    )
    selected = policy.only(selected=frozenset({"cork-timeout", "ttfb"}))
    assert set(selected.rules) == set(selected.matches[0].rules) == {"cork-timeout"}
    assert [one.metric for one in selected.thresholds] == ["ttfb"]
    ignoring = policy.only(ignored=frozenset({"cork-timeout"}))
    assert set(ignoring.rules) == {"tail-loss"}


VALUES = st.recursive(
    st.none().map(lambda _: True)
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.dates()
    | st.sampled_from(
        ["error", "warn", "off", "p(95)<1s", "2*rtt", "99999999999999999999999*rtt", "1e9", "9" * 400 + "ms"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        *(
            "extends",
            "max-inconclusive",
            "cut-short",
            "rules",
            "thresholds",
            "match",
            "host",
            "path",
            "port",
            "status",
        ),
        *("method", "max", "max-ms", "min-confidence", "structure", "*", STALL, "ttfb", *METRICS),
    ]
) | st.text(max_size=6)
DOCUMENTS = st.dictionaries(
    NAMES,
    st.dictionaries(NAMES, VALUES, max_size=3)
    | VALUES
    | st.lists(
        st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=2) | VALUES, max_size=3), max_size=2
    ),
    max_size=4,
)


def as_toml(value: object) -> str:
    """Return any value in TOML's inline form."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return str(value)
        case str():
            return '"' + "".join(f"\\U{ord(one):08x}" for one in value if not 0xD800 <= ord(one) < 0xE000) + '"'
        case list():
            return f"[{', '.join(map(as_toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{as_toml(key)} = {as_toml(inner)}" for key, inner in value.items()) + "}"
        case _:
            return str(value)


def read(text: str) -> Policy | PolicyError:
    try:
        return parse_policy(text, path="any.toml")
    except PolicyError as error:
        return error


@given(DOCUMENTS)
def test_any_document_is_a_policy_or_an_error_that_says_why(document):
    found = read("\n".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in document.items()))
    if isinstance(found, PolicyError):
        assert found.what
        return
    for rule in found.rules.values():
        assert rule.max_lost.of(10**9) >= 0


@given(st.text())
def test_any_text_is_a_policy_or_an_error_that_says_why(text):
    found = read(text)
    assert isinstance(found, Policy) or str(found).startswith("any.toml")


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "max-inconclusive = 1" + "0" * 5000, "a = 1979-13-41"])
def test_values_outside_toml_are_reported(text):
    with pytest.raises(PolicyError, match="no TOML"):
        parse_policy(text)
