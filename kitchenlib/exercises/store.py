"""What you answered and predicted, kept in a plain file beside your notebooks.

The file (``.kitchen-answers.json``) is a list of entries in the order in which they were given;
nothing is ever taken out of it. ``KITCHEN_ANSWERS`` names another file, or says ``memory`` for a
store that is forgotten with the kernel; in a folder called ``solutions`` it is always that.

Keeping answers must never get in the way of giving them: where the file cannot be read or
written, the answers stay in memory and `Store.notice` says so, once.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

FILE_NAME = ".kitchen-answers.json"
PATIENCE = 5.0  # seconds to wait for another kernel that writes; it needs milliseconds
LONGEST = 64  # items of a list, and 100 times as many characters of a text, that are kept

What = Literal["answer", "prediction"]
Entry = dict[str, Any]

_FULL = (
    "This folder cannot be written to, so your answers are remembered only until the kernel stops."
)
_LOCKED = (
    "The file with your earlier answers cannot be read. It is left as it is, and your answers are "
    "remembered only until the kernel stops."
)
_NO_FILE = (
    "`{}` is not an ordinary file. It is left as it is, and your answers are remembered only until "
    "the kernel stops."
)


class _NotAFile(OSError):
    """A device, a folder or a pipe where the file with the answers should be."""


def answers_path() -> Path | None:
    """The file that belongs to the working directory and the environment; None for memory."""
    try:
        here = Path.cwd()
    except OSError:  # the folder was deleted under the kernel
        return None
    wanted = os.environ.get("KITCHEN_ANSWERS", "") or FILE_NAME
    if here.name == "solutions" or wanted == "memory":
        return None
    return here / Path(wanted).expanduser()


class Store:
    """The entries of one file, or of memory where `path` is None.

    Several kernels may use one file: each reads it anew and adds to it, one at a time.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._kept: list[Entry] = []  # not in a file: all of a memory store, or what is to come
        self._news = ""
        self._told: set[str] = set()

    def history(self, notebook: str, what: What, key: str) -> list[Entry]:
        """What was answered to `key` so far, oldest first: entries with "value" and "verdict"."""
        try:
            filed = self._read()
        except _NotAFile as trouble:
            self._tell(str(trouble))
            filed = []
        except OSError:
            self._tell(_LOCKED)
            filed = []
        return [entry for entry in filed + self._kept if _about(entry, notebook, what, key)]

    def record(self, notebook: str, what: What, key: str, value: Any, verdict: str = "") -> None:
        """Add an entry, unless it repeats the one before it. Never raises."""
        entry = {"notebook": notebook, "what": what, "key": key}
        entry |= {"value": _kept(value), "verdict": verdict}
        if self.history(notebook, what, key)[-1:] == [entry]:
            return
        self._kept.append(entry)
        if self.path is not None:
            self._save(self.path)

    def notice(self) -> str:
        """What the reader should know about the store, said once; mostly nothing."""
        news, self._news = self._news, ""
        return news

    def _save(self, path: Path) -> None:
        """Move what is kept in memory to the file; what cannot be moved now is tried again."""
        try:
            target = _regular(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with _alone(target):
                try:
                    filed = self._read()
                except OSError:
                    return self._tell(_LOCKED)
                _replace(target, filed + self._kept)
                self._kept.clear()
        except _NotAFile as trouble:
            self._tell(str(trouble))
        except OSError:
            self._tell(_FULL)

    def _read(self) -> list[Entry]:
        """The entries of the file. One that makes no sense is put aside, not thrown away."""
        if self.path is None:
            return []
        path = _regular(self.path)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return []
        try:
            entries = json.loads(content)["entries"] if content.strip() else []
            if isinstance(entries, list):
                return entries
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        self._put_aside(path)
        return []

    def _put_aside(self, path: Path) -> None:
        aside = path.with_name(path.name + ".bak")
        number = 1
        while aside.exists():
            number += 1
            aside = path.with_name(f"{path.name}.bak{number}")
        path.rename(aside)
        self._tell(
            f"The file with your earlier answers (`{path.name}`) could not be understood. It is "
            f"kept as `{aside.name}`, and a new one is begun."
        )

    def _tell(self, news: str) -> None:
        if news not in self._told:
            self._told.add(news)
            self._news = f"{self._news}\n\n{news}".strip()


def _kept(value: Any) -> Any:
    try:
        return plain(value)
    except Exception:  # a list that holds itself, a ``tolist`` that fails
        return f"<{type(value).__name__}>"


def plain(value: Any) -> Any:
    """`value` as JSON can hold it; what JSON cannot hold as the text that Python shows for it."""
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):  # Python writes no integer of more than 4,300 digits
        return value if value.bit_length() <= 10_000 else _shown(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value[: 100 * LONGEST]
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST:
        return [plain(item) for item in value]
    return _shown(value)[: 100 * LONGEST]


def _shown(value: Any) -> str:
    try:
        return inspect.getsource(value) if inspect.isfunction(value) else repr(value)
    except Exception:  # no source at hand, or a __repr__ that fails
        return f"<{getattr(value, '__name__', type(value).__name__)}>"


def _regular(path: Path) -> Path:
    """The file that `path` leads to, links followed; raises `_NotAFile` if it is something else.

    A device or a pipe must not be opened (it may never end) and must not be replaced by a file.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(mode):
        raise _NotAFile(_NO_FILE.format(path.name))
    return target


def _about(entry: Any, notebook: str, what: What, key: str) -> bool:
    wanted = {"notebook": notebook, "what": what, "key": key}
    return isinstance(entry, dict) and "value" in entry and wanted.items() <= entry.items()


def _replace(path: Path, entries: list[Entry]) -> None:
    """Write the whole file anew, in one step: a kernel that dies meanwhile leaves the old one."""
    fresh = path.with_name(path.name + ".tmp")
    with fresh.open("w", encoding="ascii") as file:
        json.dump({"kitchen": 1, "entries": entries}, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the file for ourselves, among kernels: a lock that works on every system and disk."""
    lock = path.with_name(path.name + ".lock")
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            if time.monotonic() > deadline:  # its kernel died while it wrote
                lock.unlink(missing_ok=True)
            time.sleep(0.005)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
