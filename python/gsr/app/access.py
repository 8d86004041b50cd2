"""Access control: only requests to this machine that have the token are answered."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
REFUSED = b"Open the address that gsr app has printed; it contains the token for this page.\n"
#: The page loads nothing from other servers, even if a library tries to.
POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' ws:; "
    "frame-ancestors 'none'; form-action 'self'; base-uri 'self'"
)


class TokenRequired:
    """An ASGI application that answers only requests with the token.

    The token is part of the first address (``?token=...``), and afterwards a cookie, which the
    websocket also sends. Requests that use another host name (DNS rebinding), or come from pages of
    other servers, are rejected.
    """

    def __init__(self, app: Any, port: int, token: str | None = None) -> None:
        self.app = app
        self.token = token or secrets.token_urlsafe(24)
        self.hosts = {f"{name}:{port}" for name in NAMES}
        self.cookie = f"gsr-{port}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or reject it."""
        if scope["type"] == "lifespan" or self._is_allowed(scope):
            await self.app(scope, receive, self._with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            head = [(b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 403, "headers": head})
            await send({"type": "http.response.body", "body": REFUSED})

    def _is_allowed(self, scope: Any) -> bool:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        if headers.get("host") not in self.hosts:
            return False
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc not in self.hosts:
            return False
        cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return self._is_token([*given, *([cookie.value] if cookie else [])])

    def _is_token(self, given: Iterable[str]) -> bool:
        return any(secrets.compare_digest(each.encode(), self.token.encode()) for each in given)

    def _with_headers(self, send: Any) -> Any:
        """Return a `send` that adds the cookie and the security headers."""
        cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        added = {
            b"set-cookie": cookie.encode(),
            b"content-security-policy": POLICY.encode(),
            b"referrer-policy": b"no-referrer",
            b"x-content-type-options": b"nosniff",
        }

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *added.items()]}
            await send(message)

        return send_with_headers
