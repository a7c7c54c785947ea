"""The pages that are read off the code are what the code says now."""

from __future__ import annotations

import pytest

from docs import generate
from tests.tidy import tree


@pytest.mark.parametrize("page", generate.pages())
def test_the_page_is_up_to_date(page: str) -> None:
    assert tree.text_of(page) == generate.pages()[page], "run: python docs/generate.py"
