"""The server of the page, which listens only on this machine and requires a token."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from gsr.app.access import HOST, TokenRequired
from gsr.app.searches import Searches
from gsr.exceptions import GSRError


def serve(source: Path | None, port: int, show: Callable[[str], None], is_opened: bool) -> None:
    """Serve the page until the process is interrupted.

    Parameters
    ----------
    source : Path, optional
        A table or a run folder to start with.
    port : int
        Port to listen on; 0 selects a free port.
    show : callable
        Called with the address of the page.
    is_opened : bool
        Whether to open the address in a browser.
    """
    with tempfile.TemporaryDirectory(prefix="gsr-app-") as folder:
        os.environ["NICEGUI_STORAGE_PATH"] = folder  # the default is the working directory
        _require_nicegui()
        searches = Searches(Path(folder))
        try:
            _serve(searches, source, port, show, is_opened)
        finally:
            searches.stop()


def _require_nicegui() -> None:
    try:
        import nicegui  # noqa: F401
    except ImportError as error:
        raise GSRError("gsr app needs NiceGUI: pip install nicegui") from error


def _serve(
    searches: Searches,
    source: Path | None,
    port: int,
    show: Callable[[str], None],
    is_opened: bool,
) -> None:
    import uvicorn
    from fastapi import FastAPI
    from nicegui import ui

    from gsr.app import page

    first = page.register(searches, source)
    threading.Thread(target=_load, daemon=True).start()
    with _listening(port) as listener:
        port = listener.getsockname()[1]
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        ui.run_with(app, title="gsr", dark=None, language="en-US", show_welcome_message=False)
        guarded = TokenRequired(app, port)
        address = f"http://{HOST}:{port}{first}?token={guarded.token}"
        show(address)
        if is_opened:
            webbrowser.open(address)
        config = uvicorn.Config(guarded, log_level="warning", timeout_graceful_shutdown=2)
        uvicorn.Server(config).run(sockets=[listener])


def _load() -> None:
    """Import modules for which the first search would otherwise have to wait."""
    for name in ("gsr.cli.fit_data", "gsr.conclusion", "gsr.session", "sympy", "matplotlib.figure"):
        with suppress(ImportError):
            import_module(name)


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # so that a browser that connects early waits until the server is ready
    except OSError as error:
        listener.close()
        raise GSRError(f"cannot listen on port {port}: {error.strerror}", "port") from error
    return listener
