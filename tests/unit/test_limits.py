"""Table of limits in CONTRIBUTING.md: equal to the constants in the sources."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
NATIVE = REPOSITORY / "tcptrace_http/native"
ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \| .+ \|$", re.MULTILINE)
# Limits are counts and sizes; signed numbers are times, and single bytes are header fields.
LIMIT = re.compile(
    r"^(?:pub(?:\(.+?\))? )?const (\w*MAX\w*|ROWS_PER_KIND|WINDOW_ROWS): (?:usize|u64|u32) = (.+);", re.MULTILINE
)

Limits = set[tuple[str, str, str]]


def declared() -> Limits:
    found: Limits = set()
    http = ("http", "http2", "tls", "tls-keys")
    for crate in ("capture", "tcp", *http, "path", "sender", "attribution", "analysis"):
        for source in sorted((NATIVE / crate / "src").rglob("*.rs")):
            where = source.relative_to(NATIVE).as_posix()
            found |= {(where, name, value) for name, value in LIMIT.findall(source.read_text())}
    return found


def documented() -> Limits:
    return {
        (where, name, value) for name, value, where in ROW.findall((REPOSITORY / "CONTRIBUTING.md").read_text())
    }


def test_every_limit_of_the_native_core_is_documented_with_its_value():
    assert {row for row in documented() if row[0].endswith(".rs")} == declared()


def test_the_limits_of_python_are_documented_with_their_values():
    rows = [row for row in documented() if row[0].endswith(".py")]
    assert len(rows) == 9
    for where, name, value in rows:
        source = (REPOSITORY / "tcptrace_http" / where).read_text()
        assert re.search(rf"^{name}(: Final)? = {re.escape(value)}$", source, re.MULTILINE), name
