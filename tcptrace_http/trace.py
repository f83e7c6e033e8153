"""Facts of one capture; the only module that converts native columns to polars columns."""

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

    #: Time in nanoseconds since the epoch, captured bytes, and the wire length if it is longer.
    Record: TypeAlias = tuple[int, bytes] | tuple[int, bytes, int]

    class ArrowStream(Protocol):
        """Table of a native module."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


__all__ = ["Provenance", "Trace", "empty_frame", "frame_of", "native", "write_pcap"]

#: Compiled core, checked for this version.
native = _native

if _native.__version__ != __version__:
    raise StaleNativeCore(
        f"the native core is of version {_native.__version__}, the Python package of {__version__}"
    )

# Magic number of a pcap file with nanosecond timestamps (draft-ietf-opsawg-pcap, section 4).
_PCAP_NANOSECOND_MAGIC: Final = 0xA1B23C4D
_PCAP_VERSION: Final = (2, 4)
# Maximum snapshot length of libpcap (MAXIMUM_SNAPLEN).
_PCAP_SNAPSHOT_BYTES: Final = 262_144
_NANOSECONDS: Final = 1_000_000_000
LINKTYPE_ETHERNET: Final = 1


@dataclass(frozen=True, slots=True)
class Provenance:
    """Origin and extent of a trace."""

    path: str
    #: pcap or pcapng.
    format: str
    packets: int
    tcp_packets: int
    #: Minimum and maximum capture time, in nanoseconds since the epoch; None without packets.
    first_time_ns: int | None
    last_time_ns: int | None
    #: True if the file ends before the capture did, or could be unpacked only in part.
    truncated: bool
    link_types: tuple[str, ...]
    #: Bytes read of the capture format, after unpacking.
    bytes_read: int


@dataclass(frozen=True)
class Trace:
    """Facts of one capture: its packets and anomalies."""

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
    """Return the polars frame of a native table, with the types of the schema.

    The core returns enumerations as codes, times as integers, strings and lists unchanged. Without
    ``statistics``, those columns are missing. ``only`` names the requested columns, if not all were
    requested.
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
        raise StaleNativeCore(f"the native core's columns of {table.name} are not those of the schema")
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
    """Return a frame of the table without rows."""
    import polars as pl

    return pl.DataFrame(schema=polars_schema(table))


def write_pcap(file: BinaryIO, records: Iterable[Record], *, link_type: int = LINKTYPE_ETHERNET) -> None:
    """Write (time in nanoseconds since the epoch, bytes of the frame) as a pcap file with nanoseconds.

    A third element is the wire length, if the frame was cut.

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
