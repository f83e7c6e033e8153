"""Distribution of the native core's instructions: ``python -m tests.instructions.parts [KIND ...]``.

An instruction counts for the innermost project function around it, which also covers inlined code and calls
of the C library. Without a project function (a compressor, for example), it counts for ``libraries``. The
next line is the additional cost of ``analyze --format json`` beyond its start: detectors and JSON output in
Python and polars. This cost is a lower bound, because the installed core has another allocator and
whole-program optimization, and thus needs fewer instructions than the counted example. The last line is a
lower limit for any core: a loop that reads, decodes and assigns each packet to its flow, and nothing more.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.instructions.count import built, instructions
from tests.instructions.traffic import KINDS, PACKETS, capture

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Parts, by the longest matching folder or file under ``native/``.
_PARTS: Final = {
    "capture/": "decode",
    "analysis/src/flow_table.rs": "flow table",
    "analysis/src/same_packet.rs": "flow table",
    "analysis/src/host_pairs.rs": "path",
    "path/": "path",
    "tcp/": "TCP",
    "analysis/": "flows",
    "http/": "HTTP",
    "tls/": "TLS",
    "tls-keys/": "TLS",
    "analysis/src/objects/": "objects",
    "analysis/src/documents": "objects",
    "sender/": "attribution",
    "attribution/": "attribution",
    "trace-model/": "rows",
}
_LIBRARIES: Final = "libraries"
#: Large enough to load every detector, too small to give them work.
_FEW: Final = 200
_SOURCE: Final = "/native/"
#: Functions of the C library on behalf of a caller.
_OF_THE_CALLER: Final = re.compile(r"mem(cpy|move|set|cmp|chr)|malloc|free|calloc|realloc|aligned_alloc|bcmp")


def parts(kind: str) -> Counter[str]:
    """Return the instructions of all packets by part."""
    program = built(debug=True)
    with tempfile.TemporaryDirectory() as folder:
        path, calls = Path(folder, "capture.pcap"), Path(folder, "callgrind.out")
        path.write_bytes(capture(kind))
        instructions([program, path], calls, "--dump-instr=yes", "--compress-strings=no", "--compress-pos=no")
        costs, offset = _costs(program, calls)
    by_part: Counter[str] = Counter()
    for address, part in _places(program, [address - offset for address in sorted(costs)]):
        by_part[part] += costs[address + offset]
    return by_part


def _costs(program: Path, calls: Path) -> tuple[Counter[int], int]:
    """Return the instructions by address, and the program's load offset."""
    costs: Counter[int] = Counter()
    first: dict[str, int] = {}
    names = {"ob": "", "fn": "", "cob": "", "cfn": ""}
    is_call = False
    for line in calls.read_text().splitlines():
        key, is_set, value = line.partition("=")
        if is_set and key in names:
            names[key] = value
        elif key == "calls":
            is_call = True
        elif line.startswith("0x"):
            address, _, cost = line.split()[:3]
            is_own = names["ob"].endswith(program.name)
            of_another = is_call and names["cob"] and not names["cob"].endswith(program.name)
            if is_own and (not is_call or (of_another and _OF_THE_CALLER.search(names["cfn"]))):
                costs[int(address, 16)] += int(cost)
            if is_own and not is_call:
                first[names["fn"]] = min(first.get(names["fn"], sys.maxsize), int(address, 16))
            is_call, names["cob"] = False, ""
    symbols = _symbols(program)
    offsets = Counter(first[name] - symbols[name] for name in first.keys() & symbols.keys())
    return costs, offsets.most_common(1)[0][0]


def _symbols(program: Path) -> dict[str, int]:
    """Return the functions with unique names, with their addresses."""
    listed = subprocess.run(["nm", "--demangle", program], capture_output=True, text=True, check=True).stdout
    fields = [line.split(maxsplit=2) for line in listed.splitlines()]
    functions = [
        (name, int(address, 16)) for address, kind, name in (it for it in fields if len(it) == 3) if kind in "tT"
    ]
    count = Counter(name for name, _ in functions)
    return {name: address for name, address in functions if count[name] == 1}


def _places(program: Path, addresses: list[int]) -> Iterator[tuple[int, str]]:
    """Yield each address with the part of its innermost project function."""
    told = subprocess.run(
        ["addr2line", "--inlines", "--addresses", "--exe", program],
        input="\n".join(map(hex, addresses)),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    starts = [number for number, line in enumerate(told) if line.startswith("0x")]
    for start, end in pairwise([*starts, len(told)]):
        sources = (line.partition(_SOURCE)[2] for line in told[start + 1 : end])
        yield int(told[start], 16), _part(next(filter(None, sources), ""))


def _part(source: str) -> str:
    fits = [prefix for prefix in _PARTS if source.startswith(prefix)]
    return _PARTS[max(fits, key=len)] if fits else _LIBRARIES


def bare(kind: str) -> int:
    """Return the instructions of the bare loop over all packets."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "capture.pcap")
        path.write_bytes(capture(kind))
        return instructions([built("bare"), path], Path(folder, "callgrind.out"))


def detectors_and_json(kind: str, native: int) -> int:
    """Return the program's instructions for all packets, without its start and the native core.

    A run with few packets measures the start.
    """
    return _of_the_program(capture(kind)) - _of_the_program(capture(kind, packets=_FEW)) - native


def _of_the_program(packets: bytes) -> int:
    """Return the instructions of ``analyze --format json`` as a whole, on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "capture.pcap")
        path.write_bytes(packets)
        options = ["--format", "json", "--jobs", "1", "--quiet", "--output", f"{folder}/report.json"]
        command = [sys.executable, "-m", "tcptrace_http", "analyze", *options, str(path)]
        return instructions(command, Path(folder, "callgrind.out"))


def main(kinds: list[str]) -> int:
    for kind in kinds or KINDS:
        by_part = parts(kind)
        print(f"{kind}: {by_part.total() // PACKETS} instructions a packet")
        for part, count in by_part.most_common():
            print(f"    {part:<18} {count // PACKETS:>7}")
        print(f"    {'detectors and JSON':<18} {detectors_and_json(kind, by_part.total()) // PACKETS:>7}")
        print(f"    {'a bare loop':<18} {bare(kind) // PACKETS:>7}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
