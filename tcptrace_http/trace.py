"""The trace: the facts of one capture, and the only place where native columns become polars ones."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tcptrace_http._version import __version__
from tcptrace_http.errors import StaleNativeCore
from tcptrace_http.schema import Table, polars_schema

try:
    from tcptrace_http import _native
except ImportError as error:
    raise StaleNativeCore(f"the native core could not be loaded ({error})") from error

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import BinaryIO, Protocol, TypeAlias

    import polars as pl

    #: Time in nanoseconds since the epoch, captured bytes, and the length on the wire where it is longer.
    Record: TypeAlias = tuple[int, bytes] | tuple[int, bytes, int]

    class ArrowStream(Protocol):
        """A native table, of whichever native module."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


__all__ = ["Provenance", "Trace", "empty_frame", "frame_of", "native", "write_pcap"]

#: The compiled core, checked to be of this version.
native = _native

if _native.__version__ != __version__:
    raise StaleNativeCore(
        f"the native core is of version {_native.__version__}, the Python package of {__version__}"
    )

# The magic number of a pcap file whose timestamps have nanoseconds (draft-ietf-opsawg-pcap, section 4).
_PCAP_NANOSECOND_MAGIC: Final = 0xA1B23C4D
_PCAP_VERSION: Final = (2, 4)
# The largest snapshot length that libpcap accepts (MAXIMUM_SNAPLEN).
_PCAP_SNAPSHOT_BYTES: Final = 262_144
_NANOSECONDS: Final = 1_000_000_000
LINKTYPE_ETHERNET: Final = 1


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a trace comes from, and how much of it there is."""

    path: str
    #: pcap or pcapng.
    format: str
    packets: int
    tcp_packets: int
    #: Least and greatest capture time, in nanoseconds since the epoch; None without packets.
    first_time_ns: int | None
    last_time_ns: int | None
    #: The file ends before the capture did, or could be unpacked only in part.
    truncated: bool
    link_types: tuple[str, ...]
    #: Bytes of the capture format that were read, after unpacking.
    bytes_read: int


@dataclass(frozen=True)
class Trace:
    """The facts of one capture: its packets and what was strange about it."""

    packets: pl.DataFrame
    anomalies: pl.DataFrame
    provenance: Provenance


def frame_of(
    columns: ArrowStream,
    table: Table,
    *,
    statistics: bool = True,
    only: Collection[str] | None = None,
) -> pl.DataFrame:
    """The polars frame of a native table, with the types that the schema declares.

    The core gives enumerations as codes and times as integers; strings and lists as they are.
    Without ``statistics`` it left those columns out; ``only`` names the columns that it was asked for,
    if these are not all.
    """
    import polars as pl

    frame = pl.DataFrame(columns)
    added = [column.name for column in table.columns if column.is_added and only is None]
    frame = frame.with_columns(pl.lit(None).alias(name) for name in added)
    declared = {
        name: dtype
        for name, dtype in polars_schema(table, statistics=statistics).items()
        if only is None or name in only
    }
    if frame.columns != list(declared):
        raise StaleNativeCore(f"the native core's columns of {table.name} are not those of schema.py")
    if frame.is_empty():
        return pl.DataFrame(schema=declared)
    given = frame.schema
    return frame.with_columns(
        _typed(pl.col(name), dtype) for name, dtype in declared.items() if given[name] != dtype
    )


def _typed(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    import polars as pl

    if isinstance(dtype, pl.Enum):
        return column.cat.to(dtype)
    return column.cast(dtype)


def empty_frame(table: Table) -> pl.DataFrame:
    """A frame of the table without rows."""
    import polars as pl

    return pl.DataFrame(schema=polars_schema(table))


def write_pcap(file: BinaryIO, records: Iterable[Record], *, link_type: int = LINKTYPE_ETHERNET) -> None:
    """Write (time in nanoseconds since the epoch, bytes of the frame) as a pcap file with nanoseconds.

    A third element is the length on the wire, if only the beginning of the frame was captured.

    >>> import io, tcptrace_http
    >>> file = io.BytesIO()
    >>> tcptrace_http.write_pcap(file, [(1_700_000_000_000_000_000, bytes(60))])
    >>> len(file.getvalue())
    100
    """
    header = (_PCAP_NANOSECOND_MAGIC, *_PCAP_VERSION, 0, 0, _PCAP_SNAPSHOT_BYTES, link_type)
    file.write(struct.pack("<IHHiIII", *header))
    for time_ns, frame, *wire_bytes in records:
        seconds, nanoseconds = divmod(time_ns, _NANOSECONDS)
        file.write(struct.pack("<IIII", seconds, nanoseconds, len(frame), *(wire_bytes or (len(frame),))))
        file.write(frame)
