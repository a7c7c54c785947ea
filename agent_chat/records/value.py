"""Immutable values with named fields: what a record is made of.

A subclass lists its fields as annotations, with defaults where it has them, and gets a keyword-only constructor,
equality, a readable `repr` and `replace`. `dataclasses` would do the same for three times the start-up cost
(docs/decisions/0001-values.md has the figures); type checkers see these classes as frozen data classes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ClassVar, TypeVar

    from typing_extensions import dataclass_transform

    V = TypeVar("V", bound="Value")
else:

    def dataclass_transform(**_options):
        """Stands in for the checker's decorator, which has no effect at run time."""
        return lambda cls: cls


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Value:
    """An immutable bundle of fields; subclasses declare them as annotations."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, object]] = {}

    if not TYPE_CHECKING:

        def __init_subclass__(cls, **options):
            super().__init_subclass__(**options)
            declared = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 - not at run time
            cls._fields += tuple(name for name in declared if name not in cls._fields)
            cls._defaults = {**cls._defaults, **{n: cls.__dict__[n] for n in declared if n in cls.__dict__}}

        def __init__(self, **given):
            values = {**self._defaults, **given}
            if len(values) != len(self._fields) or not all(name in values for name in self._fields):
                wrong = set(values) ^ set(self._fields)
                raise TypeError(f"{type(self).__name__}: missing or unknown fields: {', '.join(sorted(wrong))}")
            self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use replace({name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self._fields)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={self.__dict__[n]!r}' for n in self._fields)})"

    def replace(self: V, **changes: Any) -> V:
        """Returns a copy with some fields changed."""
        make: Callable[..., V] = type(self)
        return make(**{**self.__dict__, **changes})
