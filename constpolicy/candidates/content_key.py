"""The key of a constant's content: a hash of its element type, its size and its bytes, or of samples of many bytes."""

from __future__ import annotations

import hashlib

HASHED_WHOLE = 64 * 1024  # bytes; of larger constants samples are hashed
_SAMPLES = 128
_SAMPLE = 256  # bytes


def content_key(element_type: str, data: memoryview) -> str:
    """The key of these bytes as elements of that type. Large ones of one key are very likely equal, not surely."""
    hash = hashlib.sha256(f"{element_type} {len(data)} ".encode())
    if len(data) <= HASHED_WHOLE:
        hash.update(data)
        return short(hash.hexdigest())
    step = (len(data) - _SAMPLE) / (_SAMPLES - 1)
    for k in range(_SAMPLES):
        start = int(k * step)
        hash.update(data[start : start + _SAMPLE])
    return short(hash.hexdigest())


def short(digest: str) -> str:
    return digest[:16]
