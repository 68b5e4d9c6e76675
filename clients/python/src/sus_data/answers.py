"""Answers as tables: rows of a list, of a query, and the records behind a number.

Frames are made by pandas, polars or pyarrow where they are installed (``pip install "sus-data[pandas]"``). Codes stay text with
their zeros; whole numbers stay whole; values with decimals are ``Decimal`` in rows and floating-point numbers in frames.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .canonical import canonical_json
from .problems import NotWhole

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Row = dict[str, Any]


def to_arrow(rows: Sequence[Row]) -> pyarrow.Table:
    """A table whose columns are those of all rows, in the order in which they come first."""
    import pyarrow

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pyarrow.table({name: pyarrow.array([plain(row.get(name)) for row in rows]) for name in names})


def plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def to_pandas(rows: Sequence[Row]) -> pandas.DataFrame:
    import pandas

    frame = pandas.DataFrame([{name: plain(value) for name, value in row.items()} for row in rows])
    for name in frame.columns:
        values = [row.get(name) for row in rows]
        present = [value for value in values if value is not None]
        # Whole numbers beside null stay whole, instead of becoming floating-point numbers.
        if len(present) < len(values) and present and all(type(value) is int for value in present):
            frame[name] = pandas.array(values, dtype="Int64")
    return frame


def to_polars(rows: Sequence[Row]) -> polars.DataFrame:
    import polars

    return polars.DataFrame(
        [{name: plain(value) for name, value in row.items()} for row in rows], infer_schema_length=None
    )


class Rows(Iterable[Row]):
    """Rows of a list, fetched page by page while they are walked. Each walk begins anew."""

    def __init__(self, walk: Callable[[], Iterator[Row]]) -> None:
        self._walk = walk

    def __iter__(self) -> Iterator[Row]:
        return self._walk()

    def to_arrow(self) -> pyarrow.Table:
        return to_arrow(list(self))

    def to_pandas(self) -> pandas.DataFrame:
        return to_pandas(list(self))

    def to_polars(self) -> polars.DataFrame:
        return to_polars(list(self))


@dataclass(frozen=True)
class Contribution:
    """A record behind a number: what it contributes, and the published cells that it was read from."""

    dataset: str
    reference_period: str | None
    key: Mapping[str, Any]
    value: int | Decimal | None
    sources: Sequence[Mapping[str, Any]]


def row_of(answer_row: Mapping[str, Any]) -> Row:
    """One flat row: ``state_code``, ``state_name``, ``state_ibge_code``, then metrics and what the query asked to have beside them."""
    row: Row = {
        f"{dimension}_{name}": value
        for dimension, member in answer_row["dimensions"].items()
        for name, value in member.items()
    }
    row.update(answer_row["metrics"])
    for name, values in answer_row.items():
        if name in ("label", "dimensions", "metrics"):
            continue
        if isinstance(values, Mapping):
            for metric, value in values.items():
                if isinstance(value, Mapping):
                    row.update({f"{metric}_{name}_{part}": inner for part, inner in value.items()})
                else:
                    row[f"{metric}_{name}"] = value
        else:
            row[name] = values
    return row


@dataclass(frozen=True)
class Answer:
    """All rows of a query, with what they are cited and verified by."""

    question: Mapping[str, Any]
    raw_rows: Sequence[Mapping[str, Any]]
    raw_totals: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    rows: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", [row_of(row) for row in self.raw_rows])

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def totals(self) -> dict[tuple[str, ...], list[Row]]:
        """Rows of each level of totals, by the dimensions that the level keeps."""
        return {
            tuple(level["group_by"]): [row_of(row) for row in level["data"]] for level in self.raw_totals
        }

    @property
    def release_id(self) -> str:
        return str(self.meta["release_id"])

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the release, the canonical query and all its rows: what to write down beside a number."""
        return str(self.meta["fingerprint"])

    @property
    def notes(self) -> list[Mapping[str, Any]]:
        """What to know about the numbers: ``code`` for programs, ``message`` to read, and the parameters of the code."""
        return list(self.meta.get("notes", []))

    @property
    def citation(self) -> Mapping[str, str]:
        """``abnt`` and ``bibtex``."""
        return dict(self.meta.get("citation", {}))

    def check(self) -> None:
        """Computes the fingerprint again from the release, the query and ``rows_sha256`` of the answer.

        Raises ``NotWhole`` where it is another. The rows themselves are checked in a report (``Release.report``), which holds the
        text of every cell that is digested.
        """
        body = {
            "format": "sus-data-query-1",
            "release_id": self.meta["release_id"],
            "catalog_version": self.meta["catalog_version"],
            "query": {
                name: value
                for name, value in self.meta["query"].items()
                if name not in ("limit", "offset")
            },
            "rows_sha256": self.meta["rows_sha256"],
        }
        found = hashlib.sha256(canonical_json(body)).hexdigest()
        if found != self.fingerprint:
            raise NotWhole(f"the fingerprint {self.fingerprint} does not follow from release, query and rows: {found}")

    def to_arrow(self) -> pyarrow.Table:
        return to_arrow(self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        return to_pandas(self.rows)

    def to_polars(self) -> polars.DataFrame:
        return to_polars(self.rows)


@dataclass(frozen=True)
class Comparison(Sequence[Row]):
    """The rows that differ between two releases, as a sequence, and what the answer says of both releases (``meta``)."""

    rows: Sequence[Row]
    meta: Mapping[str, Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    @property
    def same_content(self) -> bool | None:
        """Whether both releases hold the same data, whoever wrote their files; None where one of them has no content id."""
        same: bool | None = self.meta["same_content"]
        return same
