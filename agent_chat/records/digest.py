"""SHA-256, by whatever loads quickest: the interpreter's own module, without the library that `hashlib` loads."""

from __future__ import annotations

# In CPython 3.12 and later, before that, and everywhere; they compute the same (FIPS 180-4).
_MODULES = ("_sha2", "_sha256", "hashlib")


def sha256_of(data: bytes) -> str:
    """Returns the SHA-256 of some bytes as 64 hexadecimal digits."""
    for name in _MODULES:
        try:
            return str(__import__(name).sha256(data).hexdigest())
        except ImportError:
            continue
    raise AssertionError("hashlib is always there")
