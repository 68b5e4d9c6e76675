"""Reports that somebody holds: are they what they say they are?

Of a CSV all digests are computed again, and the signature; of a workbook the digest of codes and values, the fingerprint and the
signature. No server takes part: ``SusData.replay`` asks one besides. The rules stand in docs/reports-and-audit.md.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .canonical import canonical_json
from .notes import check_log_proof, is_signed
from .problems import NotWhole

MARK = "# sus-data-report "
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
JSON_FIELDS = ("components", "query", "columns", "notes", "signature", "log_proof")
# In a CSV a text that a spreadsheet would run has an apostrophe before it.
FORMULA = re.compile(r"^'(?=[=+\-@\t\r])")


@dataclass(frozen=True)
class Verdict:
    """What was checked, what is wrong, and whose key has signed."""

    checked: list[str]
    problems: list[str]
    signed_by: str | None

    @property
    def is_whole(self) -> bool:
        return not self.problems

    def require(self) -> Verdict:
        """Raises ``NotWhole`` where anything is wrong."""
        if self.problems:
            raise NotWhole("; ".join(self.problems))
        return self


@dataclass(frozen=True)
class Report:
    """A report as read: its manifest, its header, its cells as text. ``table`` are the bytes of the table, where they are digested."""

    manifest: Mapping[str, Any]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    table: bytes | None

    def verify(self, key: str | None = None, log_key: str | None = None) -> Verdict:
        """Computes the digests again and checks the signature.

        ``key``: the public key (base64) that must have signed. ``log_key``: the verifier key of the log that must name the release.
        """
        manifest = self.manifest
        checked: list[str] = []
        problems: list[str] = []

        def check(name: str, found: str, problem: str) -> None:
            checked.append(name)
            if found != manifest[name]:
                problems.append(f"{problem} ({name})")

        if self.table is not None:
            body = {name: value for name, value in manifest.items() if name != "manifest_sha256"}
            check("manifest_sha256", sha256(canonical_json(body)), "the manifest was changed")
            check("table_sha256", sha256(self.table), "the table is not the one the manifest was made of")
        digested = {column["name"] for column in manifest["columns"] if column["digested"]}
        places = [place for place, name in enumerate(self.header) if name in digested]
        lines = sorted("\t".join(row[place] for place in places).encode() for row in self.rows)
        check("rows_sha256", sha256(b"\n".join(lines)), "the codes and values are not those the manifest was made of")
        query = {
            "format": "sus-data-query-1",
            **{name: manifest[name] for name in ("release_id", "catalog_version", "query", "rows_sha256")},
        }
        check("fingerprint", sha256(canonical_json(query)), "the fingerprint does not follow from release, query and rows")
        signed_by = self._signer(checked, problems)
        if key is not None and signed_by != key:
            problems.append(f"the report is not signed by the key {key}")
        if log_key is not None:
            checked.append("log_proof")
            try:
                check_log_proof(str(manifest.get("log_proof")), manifest["release_id"], log_key)
            except NotWhole as problem:
                problems.append(f"log_proof: {problem}")
        return Verdict(checked, problems, signed_by)

    def _signer(self, checked: list[str], problems: list[str]) -> str | None:
        signature = self.manifest["signature"]
        if signature is None:
            return None
        checked.append("signature")
        public_key, value = (base64.b64decode(signature[name]) for name in ("public_key", "value"))
        if not is_signed(public_key, self.manifest["fingerprint"].encode(), value):
            problems.append("the signature was not made by the key it names over this fingerprint")
            return None
        return str(signature["public_key"])


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_report(path: str | Path) -> Report:
    """Reads a CSV or a workbook. Raises ``NotWhole`` where the file is no report."""
    data = Path(path).read_bytes()
    try:
        return read_workbook(data) if data.startswith(b"PK") else read_csv(data)
    except (KeyError, StopIteration, ValueError, IndexError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        raise NotWhole(f"{path} is no report of sus-data in CSV or as a workbook: {error}") from error


def read_csv(data: bytes) -> Report:
    first, _, table = data.partition(b"\n")
    line = first.decode()
    if not line.startswith(MARK):
        raise ValueError(f"the first line does not begin with {MARK!r}")
    manifest = json.loads(line.removeprefix(MARK))
    texts = csv.reader(io.StringIO(table.decode(), newline=""))
    header = next(texts)
    return Report(manifest, header, [[FORMULA.sub("", cell) for cell in row] for row in texts], table)


def read_workbook(data: bytes) -> Report:
    book = zipfile.ZipFile(io.BytesIO(data))

    def part(name: str) -> ElementTree.Element:
        return ElementTree.fromstring(book.read(f"xl/{name}.xml"))

    def text(node: ElementTree.Element) -> str:
        return "".join(inner.text or "" for inner in node.iter(f"{SHEET}t"))

    shared = [text(item) for item in part("sharedStrings").iter(f"{SHEET}si")]

    def cell(node: ElementTree.Element) -> str:
        value = text(node) or node.findtext(f"{SHEET}v") or ""
        return shared[int(value)] if node.get("t") == "s" else value

    def rows(sheet: int) -> list[dict[str, str]]:
        return [
            {(node.get("r") or "").rstrip("0123456789"): cell(node) for node in row}
            for row in part(f"worksheets/sheet{sheet}").iter(f"{SHEET}row")
        ]

    fields: dict[str, str] = {}
    for row in rows(3)[1:]:
        # What is longer than a cell stands in several rows.
        fields[row["A"]] = fields.get(row["A"], "") + row.get("B", "")
    manifest: dict[str, Any] = {
        name: json.loads(value) if name in JSON_FIELDS else value for name, value in fields.items()
    }
    first, *others = rows(1)
    names = [column["name"] for column in manifest["columns"]]
    return Report(manifest, names, [[row.get(letter, "") for letter in first] for row in others], None)
