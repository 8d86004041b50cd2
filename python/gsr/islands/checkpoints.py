"""Checkpoints of islands: files written in one step, with a checksum; several are kept.

A run has a folder of them: ``manifest.json``, and for each island a folder such as
``island-00003`` with numbered files such as ``000000000012.gsr``. A file that is damaged, cut off
or foreign is recognised by its length and its checksum, and the one before it is used.
A thread of its own writes them, so that the search never waits for a disk.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import struct
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gsr import files
from gsr.exceptions import GSRError
from gsr.files import make_own_folder, read_whole, remove_leftovers, write_whole

#: Advice for checkpoints that cannot be used.
ADVICE = "choose another run.output, or set checkpoint.resume to false"
MAGIC, VERSION = b"GSRISLE\n", 1
MANIFEST, FORMAT = "manifest.json", "gsr checkpoints"
#: Islands, and ranks, that a run may have.
MOST_ISLANDS = 1_000_000
#: A second manifest, in case the first is damaged or removed.
COPY = "manifest.copy.json"
#: Magic, version, island, sequence, bytes of `about` and of the payload; the SHA-256 follows.
_HEAD = struct.Struct("<8sIIQIQ")
_DIGEST = hashlib.sha256().digest_size
_NAME = re.compile(r"(\d{12})\.gsr")


class ForeignVersionError(GSRError):
    """A checkpoint is undamaged, but of another version of gsr."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of an island, with small facts about it: evaluations, best error, epoch ..."""

    island: int
    sequence: int
    about: dict[str, Any]
    payload: bytes


class Checkpoints:
    """The checkpoints of a run: `keep` of each island in a folder, which the first write makes."""

    def __init__(self, folder: str | os.PathLike[str], keep: int = 3) -> None:
        self.folder = Path(folder)
        self.keep = max(1, keep)
        self.notes: list[str] = []
        self._clean: set[Path] = set()
        self._manifest: Manifest | None = None

    def write(
        self, island: int, sequence: int, payload: bytes, about: Mapping[str, Any] | None = None
    ) -> None:
        """Write a checkpoint, and remove those that are too old.

        Newer ones, of a run that was resumed from an earlier checkpoint, are removed too.
        """
        folder = self.island_folder(island)
        make_own_folder(self.folder)
        make_own_folder(folder)
        self._remove_leftovers(folder)
        content = pack(Checkpoint(island, sequence, dict(about or {}), payload))
        write_whole(content, folder / _file_name(sequence), follow=False)
        self._remove_all_but(island, sequence)

    def latest(self, island: int) -> Checkpoint | None:
        """Return the newest undamaged checkpoint of an island; the damaged ones are noted."""
        found = (self.at(island, sequence) for sequence in reversed(self.sequences(island)))
        return next((each for each in found if each is not None), None)

    def at(self, island: int, sequence: int) -> Checkpoint | None:
        """Return a checkpoint by its number, None if it is missing or damaged."""
        path = self.island_folder(island) / _file_name(sequence)
        if not os.path.lexists(path):
            return None
        try:
            found = unpack(read_whole(path))
            if (found.island, found.sequence) != (island, sequence):
                raise GSRError(f"it belongs to island {found.island}, number {found.sequence}")
        except ForeignVersionError as error:
            raise GSRError(f"the checkpoint {path} cannot be used: {error}; {ADVICE}") from error
        except GSRError as error:
            note = f"the checkpoint {path} is not used: {error}"
            self.notes += [note] if note not in self.notes else []
            return None
        return found

    def sequences(self, island: int) -> list[int]:
        """Return the numbers of an island's checkpoints, damaged or not, the oldest first."""
        try:
            names = os.listdir(self.island_folder(island))
        except OSError:
            return []
        return sorted(int(found[1]) for found in map(_NAME.fullmatch, names) if found)

    def island_folder(self, island: int) -> Path:
        """Return where the checkpoints of an island are."""
        return self.folder / f"island-{island:05d}"

    def forget(self, island: int) -> None:
        """Remove an island's checkpoints, ignoring files that cannot be deleted."""
        shutil.rmtree(self.island_folder(island), ignore_errors=True)

    def set_aside(self) -> Path | None:
        """Rename the folder in one step, so that a run can begin anew, and return the new name."""
        if not self.folder.is_dir():
            return None
        aside = self.folder.with_name(f"{self.folder.name}.old-{secrets.token_hex(4)}")
        self.folder.rename(aside)
        self._clean.clear()
        return aside

    def read_manifest(self) -> Manifest | None:
        """Return the manifest, None if there is none; raises `GSRError` if it cannot be used."""
        paths = [self.folder / name for name in (MANIFEST, COPY)]
        there = [path for path in paths if os.path.lexists(path)]
        for path in there[:-1]:
            with suppress(GSRError):
                return Manifest.from_json(read_whole(path), path)
        return Manifest.from_json(read_whole(there[-1]), there[-1]) if there else None

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest, in one step."""
        make_own_folder(self.folder)
        self._remove_leftovers(self.folder)
        for name in (COPY, MANIFEST):
            write_whole(manifest.to_json(), self.folder / name, follow=False)
        self._manifest = manifest

    def restore_manifest(self) -> bool:
        """Write the manifest again if it was removed since it was written here; True then."""
        if self._manifest is None or os.path.lexists(self.folder / MANIFEST):
            return False
        self.write_manifest(self._manifest)
        return True

    def _remove_leftovers(self, folder: Path) -> None:
        # Once: later temporary files are those of this process.
        if folder not in self._clean:
            remove_leftovers(folder)
            self._clean.add(folder)

    def _remove_all_but(self, island: int, written: int) -> None:
        older = [each for each in self.sequences(island) if each < written]
        kept = {written, *older[len(older) - self.keep + 1 :]}
        for sequence in self.sequences(island):
            if sequence not in kept:
                with suppress(OSError):
                    (self.island_folder(island) / _file_name(sequence)).unlink()


def _file_name(sequence: int) -> str:
    return f"{sequence:012d}.gsr"


# ---- one file --------------------------------------------------------------------------------


def pack(checkpoint: Checkpoint) -> bytes:
    """Return a checkpoint as the bytes of a file."""
    about = json.dumps(files.plain(checkpoint.about), allow_nan=False).encode()
    sizes = len(about), len(checkpoint.payload)
    head = _HEAD.pack(MAGIC, VERSION, checkpoint.island, checkpoint.sequence, *sizes)
    body = about + checkpoint.payload
    return head + _digest(head, body) + body


def unpack(content: bytes) -> Checkpoint:
    """Return the checkpoint in a file; raises `GSRError` if there is none."""
    if len(content) < _HEAD.size + _DIGEST:
        raise GSRError(f"it is cut off: it has {len(content)} bytes")
    magic, version, island, sequence, n_about, n_payload = _HEAD.unpack_from(content)
    if magic != MAGIC:
        raise GSRError("it is no checkpoint of gsr")
    start = _HEAD.size + _DIGEST
    if len(content) != start + n_about + n_payload:
        raise GSRError(
            f"it is cut off: {start + n_about + n_payload} bytes are due, {len(content)} are there"
        )
    head, digest, body = content[: _HEAD.size], content[_HEAD.size : start], content[start:]
    whole = _digest(head, body) == digest
    if version != VERSION:
        kind = ForeignVersionError if whole else GSRError
        raise kind(f"it has format version {version}; this gsr reads {VERSION}")
    if not whole:
        raise GSRError("it is damaged: its checksum is wrong")
    try:
        about = json.loads(body[:n_about])
    except ValueError as error:
        raise GSRError(f"it is damaged: {error}") from error
    return Checkpoint(island, sequence, about, body[n_about:])


def _digest(head: bytes, body: bytes) -> bytes:
    digest = hashlib.sha256(head)
    digest.update(body)
    return digest.digest()


# ---- what the files belong to ----------------------------------------------------------------


@dataclass(frozen=True)
class Manifest:
    """What all checkpoints of a run have in common."""

    #: Identifies the problem: data, library and what defines the search.
    fingerprint: str
    #: Islands that may have files, those of earlier pieces of the run included.
    islands: int
    #: Of the piece that runs; the mode is ``"throughput"`` or ``"deterministic"``.
    ranks: int
    seed: int
    mode: str

    def to_json(self) -> str:
        """Return the manifest as text."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(content, indent=1) + "\n"

    @staticmethod
    def from_json(text: bytes, path: str | os.PathLike[str] = MANIFEST) -> Manifest:
        """Read a manifest; the `GSRError` of a damaged one names the file and what to do."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise GSRError(f"{path} is damaged: {error}; {ADVICE}") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise GSRError(f'{path} is damaged: it does not say "format": "{FORMAT}"; {ADVICE}')
        if found.get("version") != VERSION:
            version = found.get("version")
            raise GSRError(f"{path} has version {version}, this gsr reads {VERSION}; {ADVICE}")
        values: dict[str, Any] = {each.name: found.get(each.name) for each in fields(Manifest)}
        kinds = {"fingerprint": str, "mode": str}
        for name, value in values.items():
            if type(value) is not kinds.get(name, int):
                raise GSRError(f"{path} is damaged: {name} is {value!r}; {ADVICE}")
        for name in ("islands", "ranks"):
            if not 1 <= values[name] <= MOST_ISLANDS:
                told = f"{name} must be between 1 and {MOST_ISLANDS:,}"
                raise GSRError(f"{path} is damaged: {told}; {ADVICE}")
        return Manifest(**values)

    def check_resumable(self, wanted: Manifest, folder: str | os.PathLike[str]) -> list[str]:
        """Compare with what a new piece of the run wants, and return remarks for the user."""
        if self.fingerprint != wanted.fingerprint:
            what = "data, library or search differ"
            if self.seed != wanted.seed:
                what = f"run.seed was {self.seed} and is {wanted.seed} now"
            raise GSRError(f"the checkpoints in {folder} are of another problem: {what}; {ADVICE}")
        if wanted.mode != "deterministic":
            return []
        return [
            f"{name} was {getattr(self, name)} and is {getattr(wanted, name)} now: the run goes "
            "on, but its result is not that of one run without a pause"
            for name in ("ranks", "seed", "mode")
            if getattr(self, name) != getattr(wanted, name)
        ]


# ---- writing in the background -----------------------------------------------------------------


class WriteFailures:
    """Logs the failures of writes that are tried again and again, from any thread."""

    def __init__(self, what: str, log: logging.Logger) -> None:
        self._what = what
        self._log = log
        self._kinds: set[object] = set()
        self._lock = threading.Lock()

    def failed(self, error: Exception) -> None:
        """Note a failure."""
        kind = getattr(error, "errno", None) or type(error)
        with self._lock:
            is_new = kind not in self._kinds
            self._kinds.add(kind)
        if is_new:
            self._log.warning(
                "%s cannot be written: %s; the search goes on, and writing is tried again",
                self._what,
                _reason(error),
            )

    def worked(self) -> None:
        """Note a success."""
        with self._lock:
            is_over = bool(self._kinds)
            self._kinds.clear()
        if is_over:
            self._log.warning("%s can be written again", self._what)


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    place = getattr(error, "filename", None)
    reason = reason.removeprefix("cannot write: ")
    return f"{place}: {reason}" if place else reason


log = logging.getLogger(__name__)
#: Seconds between a failure and the next try: the first pause, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 60.0


@dataclass(frozen=True)
class _Job:
    island: int
    sequence: int
    payload: bytes = field(repr=False)
    about: Mapping[str, Any]


class BackgroundWriter:
    """Writes checkpoints in the background, the newest of each island.

    A failure is logged once for each kind, and tried again: after a pause that grows, or when
    something newer comes.
    """

    def __init__(self, checkpoints: Checkpoints, depth: int = 1) -> None:
        self._depth = depth
        self._checkpoints = checkpoints
        self._failures = WriteFailures("checkpoints", log)
        self._changed = threading.Condition()
        self._waiting: dict[int, list[_Job]] = {}
        self._current: _Job | None = None
        self._written: dict[int, int] = {}
        self._failed: set[int] = set()
        self._pause = self._due = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
        self._thread.start()

    def submit(
        self, island: int, sequence: int, payload: bytes, about: Mapping[str, Any] | None = None
    ) -> None:
        """Take a checkpoint to write; it replaces older ones of that island that wait."""
        with self._changed:
            waiting = [job for job in self._waiting.get(island, []) if job.sequence != sequence]
            waiting.append(_Job(island, sequence, payload, dict(about or {})))
            self._waiting[island] = waiting[-self._depth :]
            self._try_now()

    def flush(self, timeout: float) -> bool:
        """Wait until all is written; False after so many seconds."""
        with self._changed:
            self._try_now()
            return self._changed.wait_for(self._is_idle, timeout)

    def is_idle(self) -> bool:
        """Tell whether all is written."""
        with self._changed:
            return self._is_idle()

    def written(self, island: int) -> int | None:
        """Return the number of an island's newest checkpoint on disk that was written here."""
        with self._changed:
            return self._written.get(island)

    def close(self, timeout: float) -> bool:
        """Write the rest and end the thread; False if not all could be written in time."""
        done = self.flush(timeout)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout if done else 0.0)
        return done

    # Called with the lock held.

    def _try_now(self) -> None:
        self._pause = self._due = 0.0
        self._failed.clear()
        self._changed.notify_all()

    def _is_idle(self) -> bool:
        return not self._waiting and self._current is None

    # The thread.

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._checkpoints.write(job.island, job.sequence, job.payload, job.about)
                if self._checkpoints.restore_manifest():
                    gone = self._checkpoints.folder / MANIFEST
                    log.warning("%s was removed; it is written again", gone)
            except Exception as error:  # a dead thread would lose all later checkpoints
                self._failures.failed(error)
                self._put_back(job)
            else:
                if self._is_last():
                    self._failures.worked()
                self._put_away(job)

    def _next(self) -> _Job | None:
        """Wait for a job: of an island that has not just failed, or of any after a pause."""
        with self._changed:
            while not self._closed:
                untried = (island for island in self._waiting if island not in self._failed)
                island = next(untried, None)
                if island is not None:
                    self._current, *later = self._waiting.pop(island)
                    if later:
                        self._waiting[island] = later
                    return self._current
                pause = self._due - time.monotonic()
                if self._waiting and pause <= 0.0:
                    self._failed.clear()
                else:
                    self._changed.wait(pause if self._waiting else None)
            return None

    def _put_back(self, job: _Job) -> None:
        with self._changed:
            self._current = None
            newer = self._waiting.get(job.island, [])
            if len(newer) < self._depth and job.sequence not in [each.sequence for each in newer]:
                self._waiting[job.island] = [job, *newer]
            if not self._failed:
                self._pause = min(max(2.0 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
            self._failed.add(job.island)
            self._due = time.monotonic() + self._pause

    def _is_last(self) -> bool:
        with self._changed:
            return not self._waiting

    def _put_away(self, job: _Job) -> None:
        with self._changed:
            self._current = None
            self._written[job.island] = job.sequence
            self._changed.notify_all()
