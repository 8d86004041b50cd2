"""Who may see the pages of `gsr app`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gsr.app.access import TokenRequired

PORT = 8123
GOOD = {"host": f"127.0.0.1:{PORT}"}


async def _answered(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"page"})


def ask(headers: dict[str, str], query: str = "", kind: str = "http") -> list[dict[str, Any]]:
    """Return the messages that answer a request."""
    guarded = TokenRequired(_answered, PORT, token="secret")
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "headers": encoded, "query_string": query.encode()}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(guarded(scope, receive, send))
    return sent


def test_the_token_in_the_address_opens_the_page_and_becomes_a_cookie() -> None:
    start, body = ask(GOOD, "token=secret")
    assert (start["status"], body["body"]) == (200, b"page")
    cookie = dict(start["headers"])[b"set-cookie"].decode()
    assert cookie.startswith(f"gsr-{PORT}=secret") and "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ask({**GOOD, "cookie": cookie.partition(";")[0]})[0]["status"] == 200


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        (GOOD, ""),
        (GOOD, "token=other"),
        ({**GOOD, "cookie": f"gsr-{PORT}=other"}, ""),
        ({**GOOD, "cookie": "gsr-8124=secret"}, ""),
        ({"host": "example.com"}, "token=secret"),
        ({}, "token=secret"),
        ({**GOOD, "origin": "http://example.com"}, "token=secret"),
        ({**GOOD, "origin": "http://127.0.0.1:9"}, "token=secret"),
    ],
)
def test_other_requests_are_refused(headers: dict[str, str], query: str) -> None:
    start, body = ask(headers, query)
    assert start["status"] == 403 and b"token" in body["body"]
    assert b"secret" not in b"".join(value for _, value in start["headers"])
    assert ask(headers, query, "websocket") == [{"type": "websocket.close", "code": 1008}]


def test_the_websocket_is_opened_with_the_cookie() -> None:
    headers = {**GOOD, "origin": f"http://127.0.0.1:{PORT}", "cookie": f"gsr-{PORT}=secret"}
    assert ask(headers, kind="websocket") == [{"type": "websocket.accept"}]


def test_tokens_differ() -> None:
    assert TokenRequired(_answered, PORT).token != TokenRequired(_answered, PORT).token
