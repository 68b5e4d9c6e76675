"""A server and its releases.

A ``Release`` names itself in every request it sends, so all its answers are of the same data, whatever the operator puts into
service meanwhile.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from .answers import Answer, Comparison, Contribution, Row, Rows
from .problems import NotWhole
from .reports import Report, Verdict, read_report
from .transport import Transport
from .verification import download_release

QUERY_PAGE = 10_000
LINEAGE_PAGE = 1000
FORMATS = ("csv", "xlsx", "parquet", "arrow", "json", "json-stat")


class SusData:
    """A server of sus-data.

    ``url``: its address. ``key``: the API key; that of the environment variable ``SUS_DATA_KEY`` where none is given. ``language``:
    of names and messages, ``pt`` or ``en``. ``timeout``: seconds that an answer may take. ``retries``: how often a request is asked
    again after a refusal that says when (429, 503) or a broken connection.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        language: str = "pt",
        timeout: float = 120,
        retries: int = 6,
    ) -> None:
        self._transport = Transport(url, key or os.environ.get("SUS_DATA_KEY"), language, timeout, retries)

    def __enter__(self) -> SusData:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def releases(self) -> list[dict[str, Any]]:
        """Every verified release of the server, any of which can be taken."""
        return list(self._transport.json("GET", "/v1/releases")["data"])

    def release(self, release_id: str | None = None) -> Release:
        """A release by its id; without one, that which is in service now. Write its ``id`` down to be answered the same later."""
        if release_id is None:
            release_id = str(self._transport.json("GET", "/ready")["data"]["release_id"])
        return Release(self._transport, release_id)

    def signing_key(self) -> str:
        """The operator's public key, with which reports are signed; base64. Take it from somewhere else to trust it."""
        return str(self._signing_key()["public_key"])

    def verifier_key(self) -> str:
        """The same key as notes of releases are checked with: name+keyid+key."""
        return str(self._signing_key()["verifier_key"])

    def _signing_key(self) -> dict[str, Any]:
        return dict(self._transport.json("GET", "/.well-known/sus-data-signing-key")["data"])

    def replay(self, report: Report | str | Path) -> Verdict:
        """Is a report whole, and does its release still give the same rows? The release must be on this server."""
        whole = report if isinstance(report, Report) else read_report(report)
        verdict = whole.verify()
        if not verdict.is_whole:
            return verdict
        again = Release(self._transport, str(whole.manifest["release_id"])).query(**whole.manifest["query"], limit=1)
        if again.fingerprint == whole.manifest["fingerprint"]:
            return Verdict([*verdict.checked, "replay"], [], verdict.signed_by)
        return Verdict(
            verdict.checked, [f"the release gives the fingerprint {again.fingerprint}"], verdict.signed_by
        )


def connect(url: str, key: str | None = None, **options: Any) -> SusData:
    """The same as ``SusData(url, key)``."""
    return SusData(url, key, **options)


class Release:
    """An immutable release. ``id`` ends with the SHA-256 of its manifest."""

    def __init__(self, transport: Transport, release_id: str) -> None:
        self._transport = transport
        self.id = release_id

    def __repr__(self) -> str:
        return f"Release({self.id!r})"

    def manifest(self) -> dict[str, Any]:
        """What the release was made of: published files with SHA-256 and rows, checks, datasets, versions."""
        return dict(self._transport.json("GET", f"/v1/releases/{self.id}")["data"])

    def get(self, path: str, **parameters: Any) -> Any:
        """One record or any other answer in JSON: ``release.get("facilities/2077485")``."""
        return self._transport.json("GET", f"/v1/{path.strip('/')}", self._pinned(parameters))

    def rows(self, path: str, **filters: Any) -> Rows:
        """Rows of a list: ``release.rows("bed-capacity", uf="AC", has_sus_capacity=True)``. Pages are fetched while they are walked."""

        def walk() -> Iterator[Row]:
            parameters = self._pinned(filters)
            while True:
                page = self._transport.json("GET", f"/v1/{path.strip('/')}", parameters)
                yield from page["data"]
                pagination = page.get("pagination", {})
                if not pagination.get("has_more"):
                    return
                # Members of dimensions are paged by offset, all other lists by cursor.
                if "offset" in pagination:
                    parameters = {**parameters, "offset": pagination["offset"] + len(page["data"])}
                else:
                    parameters = {**parameters, "cursor": pagination["next_cursor"]}

        return Rows(walk)

    def catalog(self) -> dict[str, Any]:
        """Metrics and dimensions that the key can reach, with units, formulas and sources."""
        return dict(self.get("analytics/catalog")["data"])

    def members(self, dimension: str, **parameters: Any) -> Rows:
        """Members of a dimension, for filters: ``release.members("state")``, ``release.members("municipality", search="manaus")``."""
        return self.rows(f"analytics/dimensions/{quote(dimension, safe='')}/values", **parameters)

    def query(
        self,
        metrics: Sequence[str],
        group_by: Sequence[str] = (),
        filters: Sequence[Mapping[str, Any]] | Mapping[str, Any] = (),
        *,
        limit: int | None = None,
        **options: Any,
    ) -> Answer:
        """All rows of a question; the first ``limit`` of them where that is given.

        ``filters`` are those of the API, or a mapping: ``{"state": ["AC", "RR"], "reference_period": "2026-05"}``. ``options`` are
        the other fields of a query: ``order_by``, ``totals``, ``over_period``, ``share_of``, ``change``…
        """
        question = self._question(metrics, group_by, filters, options)
        page = QUERY_PAGE if limit is None else min(limit, QUERY_PAGE)
        rows: list[Mapping[str, Any]] = []
        while True:
            body = {**question, "limit": page, "offset": len(rows)}
            answer = self._transport.json("POST", "/v1/analytics/query", body=body)
            rows.extend(answer["data"])
            if not answer["pagination"]["has_more"] or (limit is not None and len(rows) >= limit):
                break
        return Answer(question, rows[:limit], answer.get("totals", []), answer["meta"])

    def explain(self, metrics: Sequence[str], group_by: Sequence[str] = (), filters: Any = (), **options: Any) -> Any:
        """What a question would do: its canonical form, its SQL, what it reads. Nothing is run."""
        question = self._question(metrics, group_by, filters, options)
        return self._transport.json("POST", "/v1/analytics/explain", body=question)["data"]

    def lineage(
        self,
        metric: str,
        key: Mapping[str, Any] | None = None,
        filters: Sequence[Mapping[str, Any]] | Mapping[str, Any] = (),
        *,
        side: str | None = None,
        **options: Any,
    ) -> Iterator[Contribution]:
        """The records behind one number: ``release.lineage("bed_capacity_sus", {"state": "RR"})``.

        ``key``: codes of the group, as rows show them. ``side``: ``numerator`` or ``denominator`` of a ratio. The contributions add
        up to the number, exactly; each names file, SHA-256, row, column and published cell.
        """
        question = self._question([metric], list(key or {}), filters, options)
        given = {"key": dict(key or {}), "metric": metric, **({} if side is None else {"side": side})}
        offset = 0
        while True:
            body = {**question, **given, "limit": LINEAGE_PAGE, "offset": offset}
            page = self._transport.json("POST", "/v1/analytics/lineage", body=body)
            for record in page["data"]:
                yield Contribution(
                    record["dataset"],
                    record.get("reference_period"),
                    record["key"],
                    record["contribution"],
                    record["sources"],
                )
            offset += len(page["data"])
            if not page["pagination"]["has_more"]:
                return

    def compare(self, other: Release | str, metrics: Sequence[str], group_by: Sequence[str] = (), filters: Any = (), **options: Any) -> Comparison:
        """This release beside an older one: old, new, difference and its causes, for each row that differs.

        ``same_content`` says whether both releases hold the same data.
        """
        question = self._question(metrics, group_by, filters, options)
        del question["expected_release_id"]
        older = other.id if isinstance(other, Release) else other
        rows: list[dict[str, Any]] = []
        while True:
            body = {**question, "old_release_id": older, "new_release_id": self.id, "offset": len(rows)}
            page = self._transport.json("POST", "/v1/analytics/compare", body=body)
            rows.extend(page["data"])
            if not page["pagination"]["has_more"]:
                return Comparison(rows, page["meta"])

    def report(
        self,
        path: str | Path,
        metrics: Sequence[str],
        group_by: Sequence[str] = (),
        filters: Any = (),
        *,
        format: str | None = None,
        title: str | None = None,
        **options: Any,
    ) -> Path:
        """Writes a reproducible report: all rows with manifest and fingerprint. The format is that of the file's name, or ``format``.

        What is written is what the server digested, or ``NotWhole`` is raised and nothing is there. ``read_report`` reads a CSV or a
        workbook and verifies it, ``SusData.replay`` asks the release again.
        """
        target = Path(path)
        chosen = format or target.suffix.lstrip(".")
        if chosen not in FORMATS:
            raise ValueError(f"a report is {', '.join(FORMATS)}; name the file so, or give format=…")
        body = self._question(metrics, group_by, filters, options)
        response = self._transport.send(
            "POST",
            "/v1/analytics/export",
            {"format": chosen},
            body if title is None else {**body, "title": title},
            accept="*/*",
        )
        if hashlib.sha256(response.data).hexdigest() != response.headers["x-artifact-sha256"]:
            raise NotWhole(f"{target} is not what the server made: ask again")
        target.write_bytes(response.data)
        return target

    def download(self, folder: str | Path) -> Path:
        """A copy of the release and of those it joins, in folders named by their ids; every file is checked against its SHA-256.

        What is there already and whole is not fetched again.
        """
        return download_release(self._transport, self.id, Path(folder))

    def _pinned(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {**parameters, "expected_release_id": self.id}

    def _question(
        self,
        metrics: Sequence[str],
        group_by: Sequence[str],
        filters: Sequence[Mapping[str, Any]] | Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        order = options.get("order_by")
        return {
            "metrics": [metrics] if isinstance(metrics, str) else list(metrics),
            "group_by": [group_by] if isinstance(group_by, str) else list(group_by),
            "filters": filters_of(filters),
            **options,
            **({"order_by": [order]} if isinstance(order, str) else {}),
            "expected_release_id": self.id,
        }


def filters_of(filters: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> list[dict[str, Any]]:
    """Filters as the API takes them: a list is IN, a single value EQ."""
    if not isinstance(filters, Mapping):
        return [dict(one) for one in filters]
    return [
        {"dimension": dimension, "operator": "IN", "value": list(value)}
        if isinstance(value, (list, tuple, set, frozenset))
        else {"dimension": dimension, "operator": "EQ", "value": value}
        for dimension, value in filters.items()
    ]
