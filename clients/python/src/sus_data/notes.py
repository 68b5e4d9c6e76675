"""Who vouches for a release, and that the operator's log names it: signed notes (C2SP signed-note), proofs of inclusion (C2SP tlog-proof).

A verifier key is a text of name, key id and key (``name+keyid+key``), as ``sus-data keys signing`` and the server's
``/.well-known/sus-data-signing-key`` give it. Take it from a place that you trust, not from the copy that you check.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from .problems import NotWhole

VERIFIER = re.compile(r"^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$")
LINE = re.compile(r"^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$")
ED25519 = b"\x01"
PROOF = "c2sp.org/tlog-proof@v1"
PLACE = re.compile(r"^(0|[1-9][0-9]{0,14})$")


def check_release_note(note: str, release_id: str, verifier_key: str) -> None:
    """Raises ``NotWhole`` unless the note is of this release and signed by the key."""
    if open_note(note, verifier_key) != f"sus-data release\n{release_id}\n":
        raise NotWhole(f"the note is no signature of {release_id}")


def check_log_proof(proof: str, release_id: str, verifier_key: str) -> dict[str, Any]:
    """What the log says of a release, by ``log.tlog-proof`` or a report's ``log_proof``.

    Raises ``NotWhole`` unless a log that the key has signed names the release there. Returns the entry.
    """
    head, _, checkpoint = proof.partition("\n\n")
    form, extra, place, *beside = [*head.split("\n"), "", ""]
    path = [exact_bytes(text) for text in beside[:-2]]
    data = exact_bytes(extra.removeprefix("extra "))
    index = place.removeprefix("index ")
    if form != PROOF or not extra.startswith("extra ") or not place.startswith("index ") or PLACE.match(index) is None:
        raise NotWhole("this is no proof of inclusion")
    if data is None or any(hash_ is None or len(hash_) != 32 for hash_ in path):
        raise NotWhole("this is no proof of inclusion")
    origin, size, root, *_ = [*open_note(checkpoint, verifier_key).split("\n"), "", ""]
    if origin != read_verifier(verifier_key)[0] or PLACE.match(size) is None:
        raise NotWhole("the proof ends with no checkpoint of this log")
    found = root_of(data, int(index), int(size), [hash_ for hash_ in path if hash_ is not None])
    if found is None or base64.b64encode(found).decode() != root:
        raise NotWhole("the proof does not lead from its entry to the root of its checkpoint")
    entry: dict[str, Any] = json.loads(data)
    if entry.get("kind") != "release" or entry.get("release_id") != release_id:
        raise NotWhole(f"the log's entry is not that of {release_id}")
    return entry


def root_of(entry: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Goes up from an entry by the hashes of its proof (RFC 9162, 2.1.3.2). None where the proof has not the shape of one."""
    if index >= size:
        return None
    place, last, found = index, size - 1, hashlib.sha256(b"\x00" + entry).digest()
    for beside in path:
        if last == 0:
            return None
        is_right = place % 2 == 1 or place == last
        found = hashlib.sha256(b"\x01" + (beside + found if is_right else found + beside)).digest()
        while is_right and place % 2 == 0 and place != 0:
            place, last = place // 2, last // 2
        place, last = place // 2, last // 2
    return found if last == 0 else None


def open_note(note: str, verifier_key: str) -> str:
    """The text of a note that the key has signed; raises ``NotWhole`` for any other. Lines of other keys are passed over."""
    name, key_id, public_key = read_verifier(verifier_key)
    text, _, lines = note.rpartition("\n\n")
    for line in lines.splitlines():
        found = LINE.match(line)
        if found is None:
            raise NotWhole("the note has a line of a signature that is none")
        signature = base64.b64decode(found[2])
        if found[1] != name or signature[:4] != key_id:
            continue
        if not is_signed(public_key, f"{text}\n".encode(), signature[4:]):
            raise NotWhole(f"the note was not signed by the key {name}, which it names")
        return f"{text}\n"
    raise NotWhole(f"the note is not signed by the key {name}")


def exact_bytes(text: str) -> bytes | None:
    """Bytes of a text that is base64 in its one form."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return data if base64.b64encode(data).decode() == text else None


def read_verifier(verifier_key: str) -> tuple[str, bytes, bytes]:
    """Name, key id and public key (32 bytes) of a verifier key."""
    found = VERIFIER.match(verifier_key)
    encoded = base64.b64decode(found[3]) if found is not None else b""
    if found is None or len(encoded) != 33 or not encoded.startswith(ED25519):
        raise ValueError(f"{verifier_key!r} is no verifier key: name+keyid+key")
    key_id = hashlib.sha256(f"{found[1]}\n".encode() + encoded).digest()[:4]
    if key_id.hex() != found[2]:
        raise ValueError(f"the key id of {verifier_key!r} is not that of its name and key")
    return found[1], key_id, encoded[1:]


def is_signed(public_key: bytes, data: bytes, signature: bytes) -> bool:
    """Ed25519, by the package cryptography."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise ImportError('signatures need the package cryptography: pip install "sus-data[signatures]"') from error
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, data)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True
