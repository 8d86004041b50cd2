"""`gsr mcp`, spoken to over stdio by the client of the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gsr import GSRRegressor
from gsr.cli import main
from gsr.exceptions import GSRError
from gsr.mcp_tools import Tools

mcp = pytest.importorskip("mcp", reason="mcp is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a table, beside one that may not be read."""
    found = tmp_path / "named"
    found.mkdir()
    x = np.linspace(1, 4, 20)
    rows = "".join(f"{a:.17g},{2 * a**2:.17g},name\n" for a in x)
    for path in (found / "data.csv", tmp_path / "secret.csv"):
        path.write_text(f"x,y,label\n{rows}")
    (found / "link.csv").symlink_to(tmp_path / "secret.csv")
    return found


def talk(folder: Path, say: Callable[[Any], Awaitable[Any]]) -> Any:
    """Start the server and let a client speak with it."""
    arguments = ["-m", "gsr.cli", "mcp", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    server = mcp.StdioServerParameters(command=sys.executable, args=arguments, env=environment)

    async def conversation() -> Any:
        async with mcp.stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            return await say(session)

    return asyncio.run(conversation())


def content(result: Any) -> Any:
    """Return what a tool has answered."""
    assert not result.is_error, result.content
    return json.loads(result.content[0].text)


@pytest.mark.slow
def test_a_table_is_fitted_shown_and_used(folder: Path) -> None:
    async def say(session: Any) -> None:
        tools = (await session.list_tools()).tools
        assert [tool.name for tool in tools] == ["fit_table", "show_front", "predict"]
        assert all("fit" in tool.description for tool in tools)
        found = content(
            await session.call_tool("fit_table", {"path": "data.csv", "target": "y", "seconds": 60})
        )
        assert found["verdict"] == "exact" and found["law"] == "y = 2 x^2"
        front = content(await session.call_tool("show_front", {"fit": found["fit"]}))
        assert front["chosen"] == "y = 2 x^2"
        assert found["index"] in [law["index"] for law in front["front"]]
        asked = {"fit": found["fit"], "rows": [{"x": 1.0}, {"x": 3.0}]}
        result = await session.call_tool("predict", asked)
        rows = result.structured_content["result"]
        assert [row["y predicted"] for row in rows] == pytest.approx([2.0, 18.0])

    talk(folder, say)


@pytest.mark.slow
def test_what_is_wrong_reaches_the_client(folder: Path) -> None:
    async def say(session: Any) -> list[str]:
        asked = [
            ("fit_table", {"path": "../secret.csv", "target": "y"}),
            ("fit_table", {"path": "data.csv", "target": "z"}),
            ("show_front", {"fit": "fit-7"}),
        ]
        results = [await session.call_tool(name, arguments) for name, arguments in asked]
        assert all(result.is_error for result in results)
        return [result.content[0].text for result in results]

    secret, target, fit = talk(folder, say)
    assert "../secret.csv may not be read" in secret
    assert "there is no column 'z'" in target
    assert "fit-7" in fit


@pytest.mark.parametrize("path", ["../secret.csv", "link.csv", "/etc/passwd", "../named2"])
def test_only_what_is_named_is_read(folder: Path, path: str) -> None:
    with pytest.raises(GSRError, match="may not be read"):
        Tools([folder]).fit_table(path, "y")
    with pytest.raises(GSRError, match="may not be read"):
        Tools([folder]).show_front(path)


def test_a_file_may_be_named_alone(folder: Path) -> None:
    tools = Tools([folder / "data.csv"])
    found = tools.fit_table(str(folder / "data.csv"), "y", seconds=60)
    assert found["law"] == "y = 2 x^2" and found["constants"] is not None
    with pytest.raises(GSRError, match="may not be read"):
        tools.fit_table(str(folder / "link.csv"), "y")


def test_models_and_rows_of_the_user(folder: Path) -> None:
    x = np.linspace(1, 4, 20)[:, None]
    GSRRegressor(random_state=0).fit(x, 3 * x[:, 0]).save(folder / "model.json")
    tools = Tools([folder])
    assert tools.show_front("model.json")["chosen"] == "y = 3 x1"
    (row,) = tools.predict("model.json", [{"x1": 2.0, "other": 5.0}])
    assert row["y predicted"] == pytest.approx(6.0)
    with pytest.raises(GSRError, match=r"rows: there is no column 'x1'"):
        tools.predict("model.json", [{"x": 2.0}])


def test_a_path_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "nowhere"]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err
