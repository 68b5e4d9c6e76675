"""Canonical JSON (RFC 8785) of what sus-data digests: objects, lists, text, whole numbers, truth and null."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Bytes that are the same on every machine. Names are sorted by UTF-16 code units, as the standard says."""
    return json.dumps(ordered(value), ensure_ascii=False, separators=(",", ":")).encode()


def ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: ordered(value[name]) for name in sorted(value, key=lambda name: name.encode("utf-16-be"))}
    if isinstance(value, (list, tuple)):
        return [ordered(part) for part in value]
    if isinstance(value, Decimal):
        # ECMAScript writes 1.50 as 1.5 and 2.0 as 2; Python writes the shortest form of a float alike, but for a whole one.
        return int(value) if value == value.to_integral_value() else float(value)
    return value
