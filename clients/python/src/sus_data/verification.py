"""Copies of releases: fetched file by file, and checked by the names that they have.

The id of a release ends with the SHA-256 of its manifest, which names every file by its own; so whoever knows the id can check a
copy without trusting whoever it came from.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .canonical import canonical_json
from .notes import check_log_proof, check_release_note
from .problems import NotWhole, Problem
from .transport import PIECE, Transport

SIGNATURE = "manifest.sig"
LOG_PROOF = "log.tlog-proof"
RELEASE_ID = re.compile(r"^[a-z0-9-]+-[0-9a-f]{64}$")


def download_release(transport: Transport, release_id: str, folder: Path) -> Path:
    """Fetches what is not there yet. Returns the folder of the release."""
    home = folder / safe_id(release_id)
    home.mkdir(parents=True, exist_ok=True)
    data = b"".join(transport.pieces(address_of(release_id, "manifest.json")))
    manifest = manifest_of(data, release_id)
    for file in manifest["files"]:
        target = home / safe_path(file["path"])
        if target.exists() and digest_of(target) == file["sha256"]:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.part")
        digest = hashlib.sha256()
        with partial.open("wb") as out:
            for piece in transport.pieces(address_of(release_id, file["path"])):
                digest.update(piece)
                out.write(piece)
        if digest.hexdigest() != file["sha256"]:
            partial.unlink()
            raise NotWhole(f"{file['path']} of {release_id} is not what the manifest names: fetch it again")
        os.replace(partial, target)
    for beside in (SIGNATURE, LOG_PROOF):
        try:
            (home / beside).write_bytes(b"".join(transport.pieces(address_of(release_id, beside))))
        except Problem as problem:
            # Nobody has signed it.
            if problem.status != 404:
                raise
    # Last, so that a folder with a manifest is a whole release.
    (home / "manifest.json").write_bytes(data)
    for component in components_of(manifest):
        download_release(transport, component, folder)
    return home


def verify_release(folder: str | Path, verifier_key: str | None = None) -> dict[str, Any]:
    """Checks a copy of a release and of those it joins, which lie beside it. Returns its manifest; raises ``NotWhole``.

    ``verifier_key``: that of the operator who must have signed each of them, and the log that names them.
    """
    home = Path(folder)
    manifest = manifest_of((home / "manifest.json").read_bytes(), home.name)
    if verifier_key is not None:
        if not (home / SIGNATURE).exists():
            raise NotWhole(f"{home.name} is not signed")
        check_release_note((home / SIGNATURE).read_text("utf-8"), home.name, verifier_key)
        if not (home / LOG_PROOF).exists():
            raise NotWhole(f"{home.name} is in no log")
        check_log_proof((home / LOG_PROOF).read_text("utf-8"), home.name, verifier_key)
    for file in manifest["files"]:
        path = home / safe_path(file["path"])
        if not path.exists():
            raise NotWhole(f"{path} is missing")
        if digest_of(path) != file["sha256"]:
            raise NotWhole(f"{path} is not what the manifest names")
    for component in components_of(manifest):
        verify_release(home.parent / safe_id(component), verifier_key)
    return manifest


def manifest_of(data: bytes, release_id: str) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(data)
    body = {name: value for name, value in manifest.items() if name != "release_id"}
    if manifest.get("release_id") != release_id or not release_id.endswith(hashlib.sha256(canonical_json(body)).hexdigest()):
        raise NotWhole(f"the manifest is not that of {release_id}")
    return manifest


def components_of(manifest: Mapping[str, Any]) -> list[str]:
    return [component for component in (manifest.get("components") or {}).values() if component is not None]


def address_of(release_id: str, path: str) -> str:
    return f"/v1/releases/{quote(release_id, safe='')}/files/{quote(path, safe='/=')}"


def safe_id(release_id: str) -> str:
    if RELEASE_ID.match(release_id) is None:
        raise NotWhole(f"{release_id!r} is no id of a release")
    return release_id


def safe_path(path: str) -> Path:
    """A server that is not trusted must not write outside of the folder."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
        raise NotWhole(f"{path!r} is no path inside of a release")
    return Path(*parts)


def digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
