"""Registry of fixes by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.names import near
from tcptrace_http.errors import UnknownName
from tcptrace_http.what_if import request_fixes, stack_fixes, stream_fixes, tls_fixes
from tcptrace_http.what_if.fix import Fix, Side, together

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FIXES", "fix_named"]

#: Separator between the names of combined fixes.
_AND: Final = "+"


def _registry() -> dict[str, Fix]:
    singles = (
        *stack_fixes.of_servers(),
        *request_fixes.of_server_programs(),
        *tls_fixes.of_tls(),
        *request_fixes.of_browsers(),
        *stack_fixes.of_clients(),
        *stream_fixes.of_streams(),
        *request_fixes.of_pages(),
        *stack_fixes.of_hosts(),
        *request_fixes.of_paths(),
    )
    of_server = tuple(fix for fix in singles if fix.side is Side.SERVER and fix.is_practical)
    every = Fix(
        name="all-fixes",
        about="all fixes of the server's side together",
        source="those of the single fixes",
        side=Side.SERVER,
        apply=together(of_server),
        unneeded="the server has nothing left to change",
        fixed_findings=tuple(dict.fromkeys(detector for fix in of_server for detector in fix.fixed_findings)),
    )
    return {fix.name: fix for fix in (*singles, every)}


#: Fixes by name.
FIXES: Final[Mapping[str, Fix]] = _registry()


def fix_named(name: str) -> Fix:
    """Return the fix with this name; ``no-nagle+initial-window-10`` combines two, in order.

    :raises UnknownName: the name is unknown; the message suggests similar names.
    """
    parts = tuple(_single(part) for part in name.split(_AND))
    if len(parts) == 1:
        return parts[0]
    return Fix(
        name=name,
        about=f"{', '.join(part.name for part in parts)} together",
        source="those of the single fixes",
        side=parts[0].side if len({part.side for part in parts}) == 1 else Side.BOTH,
        apply=together(parts),
        unneeded="none of them changes anything",
        fixed_findings=tuple(dict.fromkeys(detector for part in parts for detector in part.fixed_findings)),
        is_practical=all(part.is_practical for part in parts),
    )


def _single(name: str) -> Fix:
    if name not in FIXES:
        raise UnknownName(f"no fix {name!r}{near(name, FIXES)}")
    return FIXES[name]
