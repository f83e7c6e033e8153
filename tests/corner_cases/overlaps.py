"""Every overlap of a segment with a waiting segment (J. Novak, Target-Based TCP Stream Reassembly, 2007).

The body is 20 bytes. Its second half waits in frame 6. An overlapping segment with other bytes follows, and
last the missing data. Receivers differ in the copy that they deliver. The analyser keeps the first copy (RFC
9293, section 3.10.7.4), and an anomaly reports the difference.
"""

from typing import Final

from .retransmissions import LATE, answered, requested
from .script import Case, case

#: The waiting segment holds bytes 8 to 14. Begin and end of the overlapping segment.
OVERLAPS: Final = {
    "equal": (8, 14),
    "starts_before_and_ends_inside": (5, 11),
    "starts_inside_and_ends_behind": (11, 17),
    "lies_inside": (9, 13),
    "covers_it": (5, 17),
    "same_start_and_shorter": (8, 11),
    "same_start_and_longer": (8, 17),
    "same_end_and_shorter": (11, 14),
    "same_end_and_longer": (5, 14),
}
WHOLE = "0123456789abcdefghij"


def overlapped(start: int, end: int, other: str) -> Case:
    talk, body = requested()
    talk.S(WHOLE[8:14], seq=body + 8)  # 6
    talk.S(other[start:end], seq=body + start, after=LATE)  # 7
    talk.S(WHOLE, seq=body, after=LATE)  # 8
    talk.C()
    # Frame 8 agrees with frame 6 everywhere, and with frame 7 only where their bytes are equal.
    differs = [7] if start >= 8 and end <= 14 else [7, 8]
    return Case(
        talk.records,
        anomalies=[("overlapping_data_differs", frame) for frame in differs] if other != WHOLE else [],
        flows=[{"server_gap_bytes": 0}],
        **answered(8),  # type: ignore[arg-type]
    )


for way, (first, last) in OVERLAPS.items():
    for what, text in (("same", WHOLE), ("other", "X" * len(WHOLE))):

        def make(start: int = first, end: int = last, other: str = text) -> Case:
            return overlapped(start, end, other)

        make.__name__ = f"{way}_with_the_{what}_bytes"
        case("RFC 9293, section 3.10.7.4; Novak 2007, section 3")(make)
