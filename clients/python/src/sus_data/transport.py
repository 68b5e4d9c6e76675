"""Requests: the key, the language, waiting as told, and problems as exceptions.

A refusal with Retry-After (429, and 503 while the server is busy) is asked again after that time, and so is a request whose
connection broke: everything here only reads. Not responsible for: what is asked (client.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.response import BaseHTTPResponse

from .problems import Problem

JSON = "application/json"
PIECE = 1 << 20


def read_json(data: bytes) -> Any:
    """Numbers with decimals become ``Decimal``: what the server divided once is not rounded a second time."""
    return json.loads(data, parse_float=Decimal)


class Transport:
    """Sends requests to one server. Threads may share it."""

    def __init__(self, url: str, key: str | None, language: str, timeout: float, retries: int) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"{url!r} is no address of a server: write http:// or https:// before it")
        self._url = url.rstrip("/")
        self._headers = {
            "accept-language": language,
            "accept-encoding": "gzip",
            "user-agent": "sus-data-python/0.1.0",
            **({} if key is None else {"authorization": f"Bearer {key}"}),
        }
        self._pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=10, read=timeout),
            retries=urllib3.Retry(
                total=retries,
                # Without names of methods every one is asked again, POST too: queries change nothing.
                allowed_methods=None,
                # No status is asked again of itself; urllib3 asks again where the answer has Retry-After.
                status_forcelist=(),
                respect_retry_after_header=True,
                backoff_factor=0.2,
                raise_on_status=False,
                redirect=False,
            ),
        )

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        accept: str = JSON,
        *,
        stream: bool = False,
    ) -> BaseHTTPResponse:
        """Sends one request. Raises ``Problem`` where the answer is no success."""
        given = {name: text_of(value) for name, value in (query or {}).items() if value is not None}
        address = f"{self._url}{path}{f'?{urlencode(given)}' if given else ''}"
        headers = {**self._headers, "accept": accept}
        data: bytes | None = None
        if body is not None:
            headers["content-type"] = JSON
            data = json.dumps(body, ensure_ascii=False).encode()
        response = self._pool.request(method, address, body=data, headers=headers, preload_content=not stream)
        if response.status >= 400:
            raise Problem(response.status, problem_of(response.data))
        return response

    def json(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        return read_json(self.send(method, path, query, body).data)

    def pieces(self, path: str) -> Iterator[bytes]:
        """The bytes of a file, as they arrive."""
        response = self.send("GET", path, accept="*/*", stream=True)
        try:
            yield from response.stream(PIECE)
        finally:
            response.release_conn()

    def close(self) -> None:
        self._pool.clear()


def text_of(value: Any) -> str:
    """A parameter as the address takes it: lists with commas, truth in small letters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(part) for part in value)
    return str(value)


def problem_of(data: bytes) -> Mapping[str, Any]:
    """A proxy before the server may answer something else than a problem."""
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"detail": data[:200].decode("utf-8", "replace")}
