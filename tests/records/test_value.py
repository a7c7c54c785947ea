"""Values: named fields given by keyword, never changed, equal when their fields are."""

from __future__ import annotations

from typing import Any

import pytest

from agent_chat.records.value import Value


class Point(Value):
    """A value with and without defaults, and with what is no field."""

    x: int
    y: int = 0
    label: str = ""

    @property
    def length(self) -> int:
        return abs(self.x) + abs(self.y)


class Pixel(Point):
    """A value with more fields than its parent."""

    colour: str = "black"


class Twin(Value):
    """Another class with the fields of `Point`."""

    x: int
    y: int = 0
    label: str = ""


def test_fields_are_given_by_keyword_or_have_defaults() -> None:
    point = Point(x=1, label="a")
    assert (point.x, point.y, point.label) == (1, 0, "a")
    assert point.length == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [({}, "x"), ({"y": 1}, "x"), ({"x": 1, "z": 2}, "z"), ({"z": 2}, "x, z"), ({"x": 1, "length": 3}, "length")],
)
def test_missing_and_unknown_fields_are_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(TypeError, match=f"^Point: missing or unknown fields: {named}$"):
        Point(**given)


def test_fields_are_not_given_by_position() -> None:
    make: Any = Point
    with pytest.raises(TypeError):
        make(1)


@pytest.mark.parametrize("name", ["x", "y", "length", "anything"])
def test_a_value_does_not_change(name: str) -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError, match="Point is immutable"):
        setattr(point, name, 2)
    with pytest.raises(AttributeError, match="Point is immutable"):
        delattr(point, name)
    assert point == Point(x=1)


def test_replace_returns_a_changed_copy_of_the_same_class() -> None:
    pixel = Pixel(x=1, colour="red")
    changed = pixel.replace(x=2, label="b")
    assert type(changed) is Pixel
    assert changed == Pixel(x=2, label="b", colour="red")
    assert pixel == Pixel(x=1, colour="red")
    assert pixel.replace() == pixel


def test_replace_refuses_what_is_no_field() -> None:
    with pytest.raises(TypeError, match="unknown fields: z"):
        Point(x=1).replace(z=2)


def test_equal_means_the_same_class_and_equal_fields() -> None:
    assert Point(x=1) == Point(x=1, y=0, label="")
    assert Point(x=1) != Point(x=2)
    assert Point(x=1) != Twin(x=1)
    assert Point(x=1) != Pixel(x=1)
    assert Point(x=1) != (1, 0, "")


def test_equal_values_are_one_key() -> None:
    assert len({Point(x=1), Point(x=1, y=0), Point(x=2), Twin(x=1)}) == 3


def test_a_value_that_holds_what_has_no_hash_has_none() -> None:
    holder: Any = Point
    with pytest.raises(TypeError, match="unhashable"):
        hash(holder(x=[1]))


def test_repr_names_every_field_in_order() -> None:
    assert repr(Point(label="a", x=1)) == "Point(x=1, y=0, label='a')"
    assert repr(Pixel(x=1)) == "Pixel(x=1, y=0, label='', colour='black')"


def test_a_subclass_has_its_parents_fields_first_and_leaves_the_parent_alone() -> None:
    assert Pixel(x=1).colour == "black"
    with pytest.raises(TypeError, match="colour"):
        Point(x=1, colour="red")  # type: ignore[call-arg]


def test_a_default_is_read_from_the_class_too() -> None:
    assert Point.y == 0
    assert not hasattr(Point, "x")
