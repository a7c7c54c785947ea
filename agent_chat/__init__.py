"""Several coding agents and people talk through Markdown files in shared folders."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.operations.stores import LeaseStore as LeaseStore
    from agent_chat.operations.stores import PathLockStore as PathLockStore


def __getattr__(name: str) -> object:
    """Loads the stores of the library when they are asked for: no command needs them."""
    if name in ("LeaseStore", "PathLockStore"):
        from agent_chat.operations import stores

        return getattr(stores, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
