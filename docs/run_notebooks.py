"""Runs the notebooks and keeps what they print: python docs/run_notebooks.py.

Needs nbformat, nbclient and ipykernel.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parent / "notebooks"


def main() -> None:
    """Run all notebooks in their folder, and write them without what differs from run to run."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
        notebook.metadata = {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        }
        for cell in notebook.cells:
            cell.metadata = {}
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
