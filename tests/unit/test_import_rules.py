"""Layers of the package: permitted imports, checked in the sources."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = "tcptrace_http"

# Module or subpackage of tcptrace_http -> permitted imports, including imports for types only.
ALLOWED = {
    "__init__": {
        "_version",
        "analysis",
        "capture",
        "corpus",
        "difference",
        "errors",
        "glossary",
        "lazy_scan",
        "rollups",
        "trace",
        "what_if",
    },
    "schema": set(),
    "errors": set(),
    "trace": {"errors", "schema", "_native", "_version"},
    "_version": set(),
    "__main__": {"cli"},
    "analysed": {"trace"},
    "filled": set(),
    "made_ahead": set(),
    "html_page": set(),
    "interruption": set(),
    "redaction": set(),
    "http2_names": set(),
    "documentation": set(),
    "output_file": set(),
    "packing": set(),
    "remote": {"errors"},
    "capture_stream": {"errors", "filled", "interruption", "packing", "remote"},
    "capture": {"capture_stream", "errors", "made_ahead", "remote", "schema", "trace"},
    "packet_lists": {"capture_stream", "errors", "trace"},
    "captured_frame": {"capture_stream", "errors", "trace"},
    "explained_segment": {"capture", "capture_stream", "errors", "schema", "trace"},
    "hops": {"schema"},
    "transfers": set(),
    "upstream_waits": {"schema"},
    "pages": {"detectors", "schema", "trace"},
    "counterfactual": {"schema"},
    "rollups": set(),
    "causes": set(),
    "detectors": {"schema"},
    "candidates": set(),
    "selection": {"analysed", "detectors", "where"},
    "native_tables": {"capture", "charts", "schema", "trace"},
    "derived_tables": {
        "candidates",
        "capture",
        "counterfactual",
        "detectors",
        "hops",
        "native_tables",
        "pages",
        "schema",
        "trace",
        "transfers",
        "upstream_waits",
    },
    "analysis": {
        "capture",
        "capture_stream",
        "captured_frame",
        "charts",
        "derived_tables",
        "detectors",
        "packet_lists",
        "redaction",
        "schema",
        "selection",
        "views",
    },
    "quantity": set(),
    "spent": set(),
    "where": {"errors", "schema", "spent"},
    "finding_groups": {"schema"},
    "judged": {"analysis", "detectors", "pages"},
    "verdict": {"analysed", "finding_groups", "quantity"},
    "views": {"analysed", "errors", "finding_groups", "quantity", "verdict"},
    "lazy_scan": {"analysis", "capture", "capture_stream", "errors", "schema", "trace"},
    "peers": set(),
    "glossary": {"causes", "detectors", "documentation", "errors", "peers", "rollups", "schema", "terms"},
    "terms": set(),
    "report": {
        "_version",
        "analysed",
        "analysis",
        "capture",
        "detectors",
        "documentation",
        "explained_segment",
        "errors",
        "finding_groups",
        "html_page",
        "http2_names",
        "judged",
        "output_file",
        "pages",
        "quantity",
        "redaction",
        "remedies",
        "rollups",
        "schema",
        "trace",
        "verdict",
    },
    "charts": {"analysed", "errors", "schema"},
    "remedies": set(),
    "inference": {"analysis", "errors"},
    "check": {
        "_version",
        "analysis",
        "detectors",
        "documentation",
        "errors",
        "judged",
        "pages",
        "quantity",
        "redaction",
        "remedies",
        "spent",
    },
    "rotated": {"capture", "capture_stream", "errors", "schema", "trace"},
    "corpus": {
        "_version",
        "analysis",
        "capture",
        "candidates",
        "capture_stream",
        "check",
        "counterfactual",
        "detectors",
        "errors",
        "judged",
        "pages",
        "quantity",
        "redaction",
        "remote",
        "rotated",
        "schema",
        "selection",
        "spent",
        "trace",
        "where",
    },
    "corpus_report": {"charts", "quantity", "report"},
    "probe": {
        "_version",
        "analysis",
        "check",
        "errors",
        "http2_names",
        "output_file",
        "quantity",
        "remedies",
    },
    "difference": {"analysis", "charts", "errors", "html_page", "inference", "quantity", "report", "what_if"},
    "what_if": {"analysis", "charts", "errors", "inference", "quantity", "report"},
    "cli": {
        "_version",
        "analysis",
        "capture",
        "capture_stream",
        "check",
        "corpus",
        "corpus_report",
        "difference",
        "detectors",
        "probe",
        "charts",
        "errors",
        "explained_segment",
        "glossary",
        "inference",
        "interruption",
        "output_file",
        "peers",
        "quantity",
        "redaction",
        "report",
        "schema",
        "what_if",
    },
}
#: Shared parts: the trace model, and the frame of HTML pages. The frame knows nothing of captures, so it
#: cannot hide a bug of the analyser, and both parts' pages look alike.
ALLOWED_TO_THE_SIMULATOR = {"trace", "schema", "errors", "_version", "html_page", "output_file"}
# External package -> the only part that may import it.
CONFINED = {
    "click": {"cli"},
    "altair": {"charts", "cli", "difference", "report", "what_if"},
    "scapy": {"captured_frame", "packet_lists"},
    "dpkt": {"captured_frame"},
    "rich": set(),
    "numpy": set(),
    "reference_sim": {"cli", "difference", "inference", "what_if"},
}
# Start-up time is a promise: these packages are imported at their point of use.
LAZY = {
    "polars",
    "altair",
    "backports",
    "gzip",
    "distributed",
    "obstore",
    "tcptrace_http.analysis",
    "tcptrace_http.check",
    "tcptrace_http.corpus_report",
    "tcptrace_http.difference",
    "tcptrace_http.inference",
    "tcptrace_http.report",
    "tcptrace_http.what_if",
    "reference_sim",
}
MODULES = sorted(path for path in (REPOSITORY / PACKAGE).rglob("*.py") if "native" not in path.parts)


def part_of(path: Path) -> str:
    return path.relative_to(REPOSITORY / PACKAGE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide who is meant"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parts_imported(path: Path) -> set[str]:
    names = [name.split(".") for name in imports(ast.parse(path.read_text()))]
    return {name[1] for name in names if name[0] == PACKAGE and len(name) > 1}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")


def modules_imported(path: Path) -> set[str]:
    """Return the modules of the package that a module imports, without itself."""
    names = set(imports(ast.parse(path.read_text())))
    known = {module_name(module) for module in MODULES}
    return {name if name in known else name.rpartition(".")[0] for name in names} - {module_name(path)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_module_imports_only_permitted_layers(path):
    part = part_of(path)
    assert parts_imported(path) <= ALLOWED[part] | {part}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_module_uses_only_the_packages_confined_to_it(path):
    tops = {name.partition(".")[0] for name in imports(ast.parse(path.read_text()))}
    assert not {top for top in tops & CONFINED.keys() if part_of(path) not in CONFINED[top]}


@pytest.mark.parametrize("part", sorted({part_of(path) for path in MODULES}))
def test_no_modules_of_a_package_import_each_other_in_a_circle(part):
    """Check that imports inside functions count, too."""
    of_part = {module_name(path): path for path in MODULES if part_of(path) == part}
    order = TopologicalSorter({name: modules_imported(path) & of_part.keys() for name, path in of_part.items()})
    order.prepare()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_module_imports_slow_packages_only_at_their_use(path):
    top_level = ast.Module(body=[node for node in ast.parse(path.read_text()).body if not _is_for_types(node)])
    functions_removed = _WithoutFunctions().visit(top_level)
    slow = {name for name in imports(functions_removed) if any(f"{name}.".startswith(f"{lazy}.") for lazy in LAZY)}
    if part_of(path) in {"report", "check", "probe", "views", "difference", "corpus_report"}:
        # Imported at their point of use; they may use each other.
        theirs = tuple(f"tcptrace_http.{name}" for name in ("report", "check", "difference", "corpus_report"))
        slow -= {name for name in slow if name.startswith(theirs)}
    if part_of(path) in {"inference", "what_if"}:
        # Imported at their point of use; they concern simulator scenarios.
        theirs = ("tcptrace_http.inference", "tcptrace_http.what_if", "tcptrace_http.report", "reference_sim")
        slow -= {name for name in slow if name.startswith(theirs)}
    if part_of(path) in {"detectors", "counterfactual", "charts", "difference", "corpus_report"}:
        slow -= {"polars"}
    if part_of(path) == "corpus":
        # The modules for analyses, and for rows shown as an analysis, are imported at their point of use.
        slow -= {name for name in slow if name.startswith("tcptrace_http.analysis")}
    assert not slow


def test_the_simulator_imports_only_the_trace_model_and_the_frame_of_pages():
    for path in (REPOSITORY / "reference_sim").rglob("*.py"):
        assert parts_imported(path) <= ALLOWED_TO_THE_SIMULATOR, path


def test_every_public_name_is_there():
    import tcptrace_http

    for name in tcptrace_http.__all__:
        assert getattr(tcptrace_http, name) is not None
    assert set(tcptrace_http._MODULE_OF) == set(tcptrace_http.__all__)


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


class _WithoutFunctions(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        return None
