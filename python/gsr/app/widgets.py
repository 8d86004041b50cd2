"""Parts shared by several pages: headings, and inputs for tables."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from nicegui import events, ui

#: Suffixes of the files that the browser offers.
TABLES = ".csv,.tsv,.txt,.dat,.xlsx,.parquet,.npy,.npz,.gz,.zip"
PASTED = "pasted rows.txt"


def heading(text: str, level: int = 2) -> None:
    """Write a heading."""
    ui.html(escape(text), tag=f"h{level}", sanitize=False)


def problem_label() -> ui.label:
    """Return a label for errors, which is hidden while there is none."""
    label = ui.label().classes("told care").props("role=alert")
    label.bind_visibility_from(label, "text", bool)
    return label


def file_input(opened: Callable[[str, bytes], Any], label: str) -> None:
    """Provide a place to drop a file on; `opened` is called with its name and content."""

    async def uploaded(event: events.UploadEventArguments) -> None:
        upload.reset()
        opened(event.file.name, await event.file.read())

    upload = ui.upload(on_upload=uploaded, auto_upload=True, max_files=1, label=label)
    upload.props(f'accept="{TABLES}" flat bordered').classes("wide")


def pasted_input(opened: Callable[[str, bytes], Any], label: str, button: str) -> None:
    """Provide a place to paste rows into; `opened` is called as by `file_input`."""
    area = ui.textarea(label).props("outlined autogrow").classes("wide")
    ui.button(button, on_click=lambda: opened(PASTED, (area.value or "").encode()))
