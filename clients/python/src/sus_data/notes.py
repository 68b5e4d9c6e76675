"""Signed notes (C2SP signed-note) of releases: who vouches for one.

A verifier key is a text of name, key id and key (``name+keyid+key``), as ``sus-data keys signing`` and the server's
``/.well-known/sus-data-signing-key`` give it. Take it from a place that you trust, not from the copy that you check.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

from .problems import NotWhole

VERIFIER = re.compile(r"^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$")
LINE = re.compile(r"^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$")
ED25519 = b"\x01"


def check_release_note(note: str, release_id: str, verifier_key: str) -> None:
    """Raises ``NotWhole`` unless the note is of this release and signed by the key. Lines of other keys are passed over."""
    text, _, lines = note.rpartition("\n\n")
    if f"{text}\n" != f"sus-data release\n{release_id}\n":
        raise NotWhole(f"the note is no signature of {release_id}")
    name, key_id, public_key = read_verifier(verifier_key)
    for line in lines.splitlines():
        found = LINE.match(line)
        if found is None:
            raise NotWhole("the note has a line of a signature that is none")
        signature = base64.b64decode(found[2])
        if found[1] != name or signature[:4] != key_id:
            continue
        if not is_signed(public_key, f"{text}\n".encode(), signature[4:]):
            raise NotWhole(f"the signature of {release_id} was not made by the key {name} that it names")
        return
    raise NotWhole(f"{release_id} is not signed by the key {name}")


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
