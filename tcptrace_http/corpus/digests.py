"""Digests: names by content, equal in every run."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

__all__ = ["canonical", "digest"]

#: Digest size, 64 bits: a dataset has at most millions of units and captures.
_BYTES: Final = 8


def digest(*parts: bytes) -> str:
    """Return the digest of bytes, in hexadecimal digits."""
    made = hashlib.blake2b(digest_size=_BYTES)
    for part in parts:
        made.update(part)
    return made.hexdigest()


def canonical(content: Any) -> bytes:
    """Return JSON whose bytes depend on its content only."""
    return json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False).encode("utf-8", "surrogateescape")
