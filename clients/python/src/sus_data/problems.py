"""What can go wrong: the server's own words, and data that are not what their digests say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Problem(Exception):
    """An answer of the server that is no success, as RFC 9457 describes it.

    ``code`` is what programs rely on; ``detail`` says what to change; ``errors`` names the places, with what is allowed there.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(body.get("code", "unknown"))
        self.detail = str(body.get("detail", ""))
        self.errors: list[dict[str, Any]] = list(body.get("errors", []))
        self.request_id = body.get("request_id")
        places = "".join(
            f"\n  {error.get('pointer', error.get('parameter', ''))}: {error.get('message', '')}"
            for error in self.errors
        )
        super().__init__(f"{status} {self.code}: {self.detail}{places}")


class NotWhole(Exception):
    """Bytes or numbers that are not what a digest, a signature or an identifier says they are."""
