"""What a message points to: read from the right, written back as it was, and refused where it has no form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records import ref as ref_record
from agent_chat.records.ref import COMMIT, PATH, Ref, parse, short

SUM = "0123456789abcdef" * 4
TEXTS = st.text(st.sampled_from("aé/#@: \n.") | st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("path:a", Ref(kind=PATH, place="a")),
        ("path:/a b/#c@d:e", Ref(kind=PATH, place="/a b/#c@d:e")),
        (f"path:/a#sha256:{SUM}", Ref(kind=PATH, place="/a", hash=SUM)),
        (f"path:/a#sha256:{SUM.upper()}", Ref(kind=PATH, place="/a", hash=SUM)),
        (f"path:/a#sha256:{SUM}#sha256:{SUM}", Ref(kind=PATH, place=f"/a#sha256:{SUM}", hash=SUM)),
        (f"path:/a#sha256:{SUM[1:]}", Ref(kind=PATH, place=f"/a#sha256:{SUM[1:]}")),
        (f"path:/a#sha256:{SUM[1:]}g", Ref(kind=PATH, place=f"/a#sha256:{SUM[1:]}g")),
        (f"path:/a#sha256:{SUM}0", Ref(kind=PATH, place=f"/a#sha256:{SUM}0")),
        (f"path:/a#SHA256:{SUM}", Ref(kind=PATH, place=f"/a#SHA256:{SUM}")),
        ("commit:0a1b", Ref(kind=COMMIT, place="", hash="0a1b")),
        ("commit:0A1B", Ref(kind=COMMIT, place="", hash="0a1b")),
        (f"commit:{SUM}", Ref(kind=COMMIT, place="", hash=SUM)),
        ("commit:../x@0a1b", Ref(kind=COMMIT, place="../x", hash="0a1b")),
        ("commit:git@example.org:a/b.git@0a1b", Ref(kind=COMMIT, place="git@example.org:a/b.git", hash="0a1b")),
    ],
)
def test_what_a_ref_says(text: str, ref: Ref) -> None:
    assert parse(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "path:", f"path:#sha256:{SUM}", "Path:a", " path:a", "path", "commit:", "commit:abc", "commit:main"),
        *("commit:@0a1b", "commit:x@", "commit:x@abc", "commit:0a1b@x", "commit: 0a1b", "commit:0a1b\n", "commit:٠٠٠٠"),
        *(f"commit:{SUM}0", "file:a", "commit:0a1g"),
    ],
)
def test_what_is_no_ref(text: str) -> None:
    assert parse(text) is None


@given(TEXTS, st.sampled_from(["", SUM]))
def test_a_path_is_read_back_whatever_it_holds(place: str, digest: str) -> None:
    ref = Ref(kind=PATH, place=place + "#sha256:x", hash=digest)
    assert parse(ref.text) == ref
    assert short(ref.text) == PATH + ref.place


@given(st.just("") | TEXTS, st.text("0123456789abcdef", min_size=4, max_size=64))
def test_a_commit_is_read_back_whatever_its_repository_is_called(place: str, digits: str) -> None:
    ref = Ref(kind=COMMIT, place=place, hash=digits)
    assert parse(ref.text) == ref
    assert short(ref.text) == ref.text


@given(TEXTS)
def test_any_text_can_be_shown_short(text: str) -> None:
    assert short(text) in (text, text[: -len("#sha256:") - 64])
    assert ref_record.FORM
