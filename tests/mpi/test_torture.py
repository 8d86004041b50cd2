"""A run that is killed again and again; `torture.py` does it for longer."""

import pytest
import torture

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode, kills", [("throughput", 3), ("deterministic", 2)])
def test_killed_runs_go_on(capsys, mode, kills):
    assert torture.main(["--kills", str(kills), "--mode", mode, "--seed", "7"]) == 0
    said = capsys.readouterr().out
    assert f"{kills} kills" in said
    assert "every start succeeded" in said
