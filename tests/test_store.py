"""Answers survive restarts, broken files, closed folders and several kernels at once."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kitchenlib.exercises import Bank, Question, Store, store
from kitchenlib.exercises.store import answers_path, plain

WRITER = """
import sys
from pathlib import Path
from kitchenlib.exercises import Store
path = Path(sys.argv[1])
mine = Store(path)
print("ready", flush=True)
sys.stdin.readline()
for i in range(int(sys.argv[3])):
    mine.record("01_ratio", "answer", "ridge", f"{sys.argv[2]}{i}")
assert mine.notice() == ""
"""


def kernel(path: Path, name: str, number: int) -> subprocess.Popen[bytes]:
    """A process that is ready to record `number` answers as fast as it can."""
    command = [sys.executable, "-c", WRITER, str(path), name, str(number)]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stdout.readline() == b"ready\n"
    return running


def values(mine: Store, key: str = "ridge") -> list[Any]:
    return [entry["value"] for entry in mine.history("01_ratio", "answer", key)]


def record(mine: Store, value: Any, key: str = "ridge") -> None:
    mine.record("01_ratio", "answer", key, value, "close")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".kitchen-answers.json"


# The file


def test_answers_survive_a_restart_in_their_order(path: Path) -> None:
    for value in (17, 295.3, "b"):
        record(Store(path), value)
    record(Store(path), "other", key="sack")
    assert values(Store(path)) == [17, 295.3, "b"]
    assert values(Store(path), "sack") == ["other"]
    assert Store(path).history("00_welcome", "answer", "ridge") == []
    assert Store(path).history("01_ratio", "prediction", "ridge") == []


def test_the_file_is_plain_json_that_a_person_can_read(path: Path) -> None:
    record(Store(path), 295.3)
    assert json.loads(path.read_text())["entries"] == [
        {
            "notebook": "01_ratio",
            "what": "answer",
            "key": "ridge",
            "value": 295.3,
            "verdict": "close",
        }
    ]
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # no lock, nothing half-written


def test_running_a_cell_again_adds_nothing(path: Path) -> None:
    mine = Store(path)
    for value in (1, 1, 2, 2, 1):
        record(mine, value)
    assert values(mine) == [1, 2, 1]


def test_reading_never_makes_a_file(path: Path) -> None:
    assert values(Store(path)) == []
    assert not path.exists()


def test_a_folder_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "answers.json"
    record(Store(path), 1)
    assert values(Store(path)) == [1]


def test_memory_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine = Store()
    record(mine, 1)
    assert values(mine) == [1]
    assert not list(tmp_path.iterdir())
    assert mine.notice() == ""


# Where it is


def test_the_file_belongs_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KITCHEN_ANSWERS", raising=False)
    assert answers_path() == tmp_path / ".kitchen-answers.json"
    monkeypatch.setenv("KITCHEN_ANSWERS", "mine.json")
    assert answers_path() == tmp_path / "mine.json"
    monkeypatch.setenv("KITCHEN_ANSWERS", str(tmp_path / "x" / "y.json"))
    assert answers_path() == tmp_path / "x" / "y.json"
    monkeypatch.setenv("KITCHEN_ANSWERS", "memory")
    assert answers_path() is None


def test_solved_twins_always_use_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "solutions").mkdir()
    monkeypatch.chdir(tmp_path / "solutions")
    for setting in ("", "mine.json"):
        monkeypatch.setenv("KITCHEN_ANSWERS", setting)
        assert answers_path() is None


# What can go wrong


@pytest.mark.parametrize(
    "content",
    [
        b"not json",
        b'{"entries": [{"notebook": "01_ratio", "wh',
        b"[]",
        b"{}",
        b"null",
        b'{"entries": 3}',
        b"\xff\xfe\x00broken",
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_corrupt_file_is_kept_aside_and_said_once(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    mine = Store(path)
    record(mine, 295.3)
    assert path.with_name(path.name + ".bak").read_bytes() == content
    assert values(Store(path)) == [295.3]
    assert ".kitchen-answers.json.bak" in mine.notice()
    record(mine, 3)
    assert mine.notice() == ""


def test_an_older_backup_is_not_overwritten(path: Path) -> None:
    for content in ("first", "second", "third"):
        path.write_text(content)
        record(Store(path), 1)
    kept = [p.read_text() for p in sorted(path.parent.glob("*.bak*"))]
    assert kept == ["first", "second", "third"]


def test_an_empty_file_is_no_news(path: Path) -> None:
    path.touch()
    mine = Store(path)
    record(mine, 1)
    assert (values(Store(path)), mine.notice()) == ([1], "")


def test_entries_of_another_edition_are_left_in_the_file(path: Path) -> None:
    strange = ["what?", {"notebook": "01_ratio", "note": "no key"}]
    path.write_text(json.dumps({"entries": strange}))
    record(Store(path), 1)
    assert values(Store(path)) == [1]
    assert json.loads(path.read_text())["entries"][:2] == strange


def remembers_in_memory_and_says_so_once(mine: Store) -> bool:
    record(mine, 1)
    said = [values(mine), mine.notice()]
    record(mine, 2)
    once = "is not an ordinary file" in said[1] and mine.notice() == ""
    return once and said[0] == [1] and values(mine) == [1, 2]


@pytest.mark.parametrize("make", [Path.mkdir, getattr(os, "mkfifo", Path.mkdir)])
def test_a_folder_or_a_pipe_in_place_of_the_file_is_left_alone(path: Path, make: Any) -> None:
    make(path)
    before = path.stat()
    assert remembers_in_memory_and_says_so_once(Store(path))
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_ino == before.st_ino


@pytest.mark.skipif(os.name == "nt", reason="Windows has no /dev")
@pytest.mark.parametrize("device", ["/dev/null", "/dev/full", "/dev/zero"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_device_is_neither_read_nor_replaced(path: Path, device: str, linked: bool) -> None:
    if linked:
        path.symlink_to(device)
    assert remembers_in_memory_and_says_so_once(Store(path if linked else Path(device)))
    assert stat.S_ISCHR(Path(device).stat().st_mode)
    assert not list(Path("/dev").glob(f"{Path(device).name}.*"))
    assert path.is_symlink() == linked


@pytest.mark.skipif(os.name == "nt", reason="Windows links need a permission")
@pytest.mark.parametrize("content", [None, "", "not json", '{"entries": []}'])
def test_a_link_stays_and_its_target_is_written(
    path: Path, tmp_path: Path, content: str | None
) -> None:
    target = tmp_path / "elsewhere" / "mine.json"
    target.parent.mkdir()
    if content is not None:
        target.write_text(content)
    path.symlink_to(target)
    record(Store(path), 1)
    record(Store(path), 2)
    assert path.is_symlink()
    assert values(Store(path)) == values(Store(target)) == [1, 2]
    assert not target.is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows links need a permission")
def test_a_file_that_cannot_be_read_is_left_alone(path: Path) -> None:
    path.symlink_to(path.name)  # a link to itself
    mine = Store(path)
    record(mine, 1)
    assert values(mine) == [1]
    assert "cannot be read" in mine.notice()
    record(mine, 2)
    assert mine.notice() == ""
    assert list(path.parent.iterdir()) == [path]


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder that may be read and not written to, also where the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        as_root = hasattr(os, "geteuid") and os.geteuid() == 0
        if as_root:
            os.seteuid(65534)  # nobody
        try:
            yield folder
        finally:
            if as_root:
                os.seteuid(0)
            folder.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="Windows folders have no mode bits")
def test_in_a_read_only_folder_answers_live_in_memory_and_it_is_said_once(
    closed_folder: Path,
) -> None:
    mine = Store(closed_folder / "answers.json")
    record(mine, 1)
    record(mine, 2)
    assert values(mine) == [1, 2]
    assert "only until the kernel stops" in mine.notice()
    record(mine, 3)
    assert mine.notice() == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows folders have no mode bits")
def test_answers_move_to_the_file_as_soon_as_it_can_be_written(tmp_path: Path) -> None:
    obstacle = tmp_path / "folder"
    obstacle.write_text("a file where a folder should be")
    mine = Store(obstacle / "answers.json")
    record(mine, 1)
    obstacle.unlink()
    record(mine, 2)
    assert values(Store(obstacle / "answers.json")) == [1, 2]


def test_two_kernels_that_write_at_once_lose_nothing(path: Path) -> None:
    kernels = [kernel(path, name, 40) for name in "ab"]
    for running in kernels:
        assert running.stdin is not None
        running.stdin.write(b"go\n")
        running.stdin.flush()
    for running in kernels:
        running.communicate(timeout=60)
    assert [running.returncode for running in kernels] == [0, 0]
    written = values(Store(path))
    for name in "ab":
        assert [v for v in written if v.startswith(name)] == [f"{name}{i}" for i in range(40)]
    assert len(written) == 80


def test_a_kernel_killed_while_it_writes_leaves_a_good_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.05)  # for the lock that the dead one may leave
    running = kernel(path, "k", 1_000_000)
    assert running.stdin is not None
    running.stdin.write(b"go\n")
    running.stdin.flush()
    time.sleep(0.2)
    running.kill()
    running.communicate(timeout=30)
    mine = Store(path)
    before = values(mine)
    record(mine, "after")
    assert len(before) > 3
    assert before == [f"k{i}" for i in range(len(before))]
    assert values(Store(path)) == [*before, "after"]
    assert mine.notice() == ""


def test_a_lock_left_behind_is_opened_after_a_while(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    path.with_name(path.name + ".lock").touch()
    record(Store(path), 1)
    assert values(Store(path)) == [1]


def test_the_reader_is_told_on_the_next_card_and_only_there(path: Path) -> None:
    path.write_text("not json")
    page = Question("q", "How many?", 3, why="Yes.", worked="{right}", nudge="Count.")
    bank = Bank("01_ratio", [page], Store(path))
    first, second = bank.check("q", 3), bank.check("q", 3)
    assert "could not be understood" in str(first)
    assert "could not be understood" in first._repr_html_()
    assert second.note == ""


# What JSON can hold


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def double(x: float) -> float:
    return 2 * x


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (3, 3),
        (True, True),
        (None, None),
        (float("nan"), "nan"),
        (np.float32(0.5), 0.5),
        (np.int64(7), 7),
        (np.array([1, 2]), [1, 2]),
        ((1, "b", 2.5), [1, "b", 2.5]),
        (1 + 2j, "(1+2j)"),
        ("\ud800", "\ud800"),
        (double, "def double(x: float) -> float:\n    return 2 * x\n"),
        (Rude(), "<Rude>"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_was_typed_is_kept_as_well_as_json_can(path: Path, value: Any, kept: Any) -> None:
    assert plain(value) == kept
    record(Store(path), value)
    assert values(Store(path)) == [kept]


def test_a_huge_answer_does_not_fill_the_file(path: Path) -> None:
    record(Store(path), np.zeros(1_000_000))
    record(Store(path), "x" * 1_000_000)
    assert path.stat().st_size < 30_000
