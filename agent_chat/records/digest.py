"""SHA-256, by whatever loads quickest: the interpreter's own module, without the library behind `hashlib`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # CPython 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ("sha256", "sha256_of")


def sha256_of(data: bytes) -> str:
    """Returns the SHA-256 of some bytes as 64 hexadecimal digits (FIPS 180-4)."""
    return sha256(data).hexdigest()
