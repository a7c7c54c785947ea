"""Tokens: what is one, whose it is, and that no message tells a secret."""

from __future__ import annotations

import hashlib

import pytest

from agent_chat import names
from agent_chat.records import digest, token
from tests.support.tokens import secret_of, session

SECRET = secret_of(7)
TOKEN = token.render(session(7), SECRET)


def test_a_token_is_read_back_as_the_id_and_the_secret_of_its_session_alone() -> None:
    assert token.parse(TOKEN) == (session(7).id, SECRET)
    assert token.has_secret(session(7), SECRET)
    assert not token.has_secret(session(7), secret_of(8))
    assert not token.has_secret(session(7), b"")


def test_a_connection_begins_the_hash_that_is_stored() -> None:
    assert session(7).secret_sha256.startswith(token.connection_of(SECRET))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        session(7).id,
        f"{session(7).id}.",
        TOKEN[:-1],
        f"{TOKEN}0",
        f"{TOKEN} ",
        f" {TOKEN}",
        f"{TOKEN}\r",
        TOKEN.upper(),
        f"{session(7).id}.{'0' * 31}g{'0' * 32}",
        f"{session(7).id}.{'٣' * 64}",
        f"../{TOKEN}",
        f"{'x' * 100}.{SECRET.hex()}",
        "\udcff",
    ],
)
def test_anything_else_is_no_token(text: str) -> None:
    assert token.parse(text) is None


@pytest.mark.parametrize("modules", [("hashlib",), ("_no_such_module", "hashlib"), digest._MODULES])
def test_a_hash_is_the_same_by_whatever_it_is_made(monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...]) -> None:
    monkeypatch.setattr(digest, "_MODULES", modules)
    for data in (b"", SECRET, b"x" * 10_000):
        assert digest.sha256_of(data) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("around", ["", "x=", "export T=", "a.b.", "/"])
def test_a_quoted_text_holds_no_secret(around: str) -> None:
    for text in (around + TOKEN, f"{around}{TOKEN} and more", f"{around}{TOKEN}.{TOKEN}"):
        assert SECRET.hex()[:8] not in names.quoted(text)
        assert SECRET.hex()[:8] not in names.without_secrets(text)
    assert names.without_secrets(f"path:a.b#sha256:{'0' * 64}") == f"path:a.b#sha256:{'0' * 64}"
