"""Links within the documentation lead somewhere: to a file of the checkout, and to a heading where they name one."""

from __future__ import annotations

import os.path
import re

import pytest

from tests.docs.pages import markdown, outside_of_blocks
from tests.tidy import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"(?m)^#+ +(.+?) *$")
NAMED = re.compile(r"(?<![\w/.-])((?:agent_chat|tests|docs|schemas|examples)/[\w./-]*\w)")


@pytest.mark.parametrize("page", markdown())
def test_each_relative_link_resolves(page: str) -> None:
    broken = []
    for target in LINK.findall(outside_of_blocks(page)):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        name = os.path.normpath(os.path.join(os.path.dirname(page), path)).replace(os.sep, "/") if path else page
        if not (tree.ROOT / name).exists() or (anchor and anchor not in _anchors(name)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", [page for page in markdown() if page.startswith("docs/") or page == "README.md"])
def test_each_file_that_a_page_names_exists(page: str) -> None:
    named = NAMED.findall(outside_of_blocks(page))
    assert [name for name in named if not (tree.ROOT / name).exists()] == []


def _anchors(page: str) -> set[str]:
    """The anchors that a Markdown reader makes of the headings."""
    found = set()
    for heading in HEADING.findall(outside_of_blocks(page)):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        found.add(plain.replace(" ", "-"))
    return found
