"""Texts of JSON with comments in every form that people and programs give them, for Hypothesis."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hypothesis import strategies as st


class Written(NamedTuple):
    """A value and one of its texts."""

    value: Any
    text: str


WHITE = st.sampled_from(["", "", " ", "\n", "\n  ", "\n\t", "\r\n    ", "\t ", "\n\n  "])
COMMENTS = st.sampled_from(["/* a */", "/**/", '/* "b": [ */', "// c\n", "// d  \n", '// "e": {\r\n', "/* f\n */"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=6)
NAMES = st.one_of(TEXTS, st.sampled_from(["Stop", "matcher", "hooks ", "version", 'q"', "\\", "env2"]))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)


@st.composite
def gaps(draw: st.DrawFn) -> str:
    """White space, now and then with comments."""
    parts = [draw(WHITE)]
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
        parts += [draw(COMMENTS), draw(WHITE)]
    return "".join(parts)


@st.composite
def scalars(draw: st.DrawFn) -> Written:
    """A value that holds no others."""
    value = draw(SCALARS)
    return Written(value, json.dumps(value, ensure_ascii=draw(st.booleans())))


@st.composite
def arrays(draw: st.DrawFn, elements: st.SearchStrategy[Written], *, max_size: int = 3) -> Written:
    """A list of such elements."""
    found = draw(st.lists(elements, max_size=max_size))
    return Written([each.value for each in found], "[" + draw(_joined([each.text for each in found])) + "]")


@st.composite
def objects(draw: st.DrawFn, members: dict[str, Written]) -> Written:
    """An object with such members, in an order of its own."""
    names = draw(st.permutations(list(members)))
    texts = [
        draw(gaps()).join(["", json.dumps(name, ensure_ascii=False), ":"]) + draw(gaps()) + members[name].text
        for name in names
    ]
    return Written({name: members[name].value for name in names}, "{" + draw(_joined(texts)) + "}")


@st.composite
def _joined(draw: st.DrawFn, texts: list[str]) -> str:
    parts: list[str] = []
    for number, text in enumerate(texts):
        parts += [draw(gaps()), text, draw(gaps())]
        if number < len(texts) - 1 or draw(st.booleans()):
            parts.append(",")
    return "".join([*parts, draw(gaps())])


@st.composite
def values(draw: st.DrawFn, *, depth: int = 2) -> Written:
    """Any value."""
    kind = draw(st.sampled_from(["scalar", "array", "object"])) if depth else "scalar"
    if kind == "scalar":
        return draw(scalars())
    inner = values(depth=depth - 1)
    if kind == "array":
        return draw(arrays(inner))
    return draw(objects(draw(st.dictionaries(NAMES, inner, max_size=3))))


@st.composite
def documents(draw: st.DrawFn, roots: st.SearchStrategy[Written]) -> Written:
    """A whole text, with what may stand around its value."""
    root = draw(roots)
    mark = draw(st.sampled_from(["", "", "", "\ufeff"]))
    end = draw(st.sampled_from(["", "\n", "\r\n", "\n\n", "// end", " /* end */\n"]))
    return Written(root.value, mark + draw(gaps()) + root.text + draw(gaps()) + end)
