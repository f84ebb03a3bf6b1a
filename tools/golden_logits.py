"""Makes tests/data/golden_logits.json: what other programs say SmolLM2 should say.

    python tools/golden_logits.py SmolLM2-135M-Instruct.Q4_1.gguf

Logits and replies come from transformers, which unpacks the same file and calculates in float64.
Tokens come from llama.cpp. Then llama.cpp calculates the logits too, in float32 from the unpacked
weights, and the largest difference between the two is noted: nothing can be held to less than that.

Run it in an environment of its own, where these are installed; the collection needs none of them:
torch==2.13.0 transformers==5.24.0 accelerate gguf==0.19.0 llama-cpp-python==0.3.36
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).resolve().parent.parent / "tests/data/golden_logits.json"
EVERY = 97  # of the logits after the last token, one in so many is kept
REPLY = 32  # tokens of the likeliest reply
MADE_WITH = ("torch", "transformers", "gguf", "llama-cpp-python")

PROMPTS = {
    "plain": "The capital of France is",
    "chat": (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        "<|im_end|>\n<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n"
    ),
    "code": "def fibonacci(n):\n    if n < 2:\n        return n\n    return",
    "letters": "Le café coûte 3,50 € à Zürich. 東京タワー, Привет, мир! 🍕",
    "long": "".join(f"Step {n}: chop {2 * n} onions and weigh them.\n" for n in range(1, 41)),
}

TRICKY = [
    "",
    " ",
    "Hello, world!",
    "  two spaces, and a tab\tand three\n\n\nlines \n",
    "trailing space ",
    "windows\r\nlines\r\n",
    "In 2024, 1,000,000 people ate 3.14159 pies at 7:05.",
    "x1y22z333",
    "I'll say they've, DON'T, it's, we'd, you're, I'm",
    "don't''ll 'quoted' \"double\"",
    "½ x² Ⅷ ٣٤ ५ ①",
    "naïve café, Straße, ångström, e\u0301",
    "東京タワー 漢字かな交じり文",
    "안녕하세요 세계",
    "สวัสดีชาวโลก",
    "مرحبا بالعالم",
    "Привет, мир!",
    "🍕👩‍🍳🇫🇷 emoji",
    "non\u00a0breaking\u2003em\u200bzero-width",
    "def f(x):\n    return x**2  # squared\n",
    '{"key": [1, 2.5, null], "path": "C:\\\\temp"}',
    "https://example.org/a_b?c=d&e=%20#f",
    "<|im_start|>user\nHi<|im_end|>\n<|endoftext|>",
    "<|im_start |> <|im_end",
    "ALLCAPS camelCase snake_case kebab-case",
    "!!!???...---===>>>",
    "\x00\x07control\x1b[0m",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "Ünïcödé" * 5,
    "\ufffd broken",
]


def main(path: Path) -> None:
    """Write the golden file from the GGUF file at `path`."""
    from llama_cpp import Llama  # type: ignore[import-not-found]

    words = Llama(str(path), vocab_only=True, verbose=False)

    def tokens(text: str) -> list[int]:
        return words.tokenize(text.encode(), add_bos=False, special=True) if text else []

    prompts = {name: tokens(text) for name, text in PROMPTS.items()}
    golden = {name: from_transformers(path, ids) for name, ids in prompts.items()}
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder) / "unpacked.gguf"
        unpack(path, unpacked)
        second = {name: from_llama_cpp(unpacked, ids) for name, ids in prompts.items()}
    content = {
        "made_with": {name: metadata.version(name) for name in MADE_WITH},
        "every": EVERY,
        "prompts": {
            name: {"text": PROMPTS[name], "tokens": ids}
            | summary(golden[name]["logits"])
            | {
                "reply": golden[name]["reply"],
                "margins": golden[name]["margins"],
                "llama_cpp_differs_by": round(
                    float(np.abs(golden[name]["logits"] - second[name]).max()), 6
                ),
            }
            for name, ids in prompts.items()
        },
        "tricky": [{"text": text, "tokens": tokens(text)} for text in TRICKY],
    }
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    TARGET.write_text(text.replace('{"text"', '\n{"text"') + "\n")


def from_transformers(path: Path, ids: list[int]) -> dict[str, Any]:
    """Logits after each token, the likeliest reply, and by how much each of its tokens led."""
    import torch  # type: ignore[import-not-found]
    from transformers import AutoModelForCausalLM  # type: ignore[import-not-found]

    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name).double()
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].numpy()
        reply: list[int] = []
        margins = []
        for _ in range(REPLY):
            after = model(torch.tensor([ids + reply])).logits[0, -1]
            best = torch.topk(after, 2)
            reply.append(int(best.indices[0]))
            margins.append(round(float(best.values[0] - best.values[1]), 4))
    return {"logits": logits, "reply": reply, "margins": margins}


def from_llama_cpp(path: Path, ids: list[int]) -> np.ndarray:
    """Logits after each token, float32 throughout."""
    from llama_cpp import Llama

    size = len(ids)
    float32 = {"type_k": 0, "type_v": 0, "flash_attn": False}
    model = Llama(
        str(path),
        logits_all=True,
        n_ctx=size,
        n_batch=size,
        n_ubatch=size,
        verbose=False,
        **float32,
    )
    model.eval(ids)
    return np.array(model.scores[:size])


def unpack(path: Path, target: Path) -> None:
    """The same GGUF file, with all weights in float32."""
    from gguf import GGUFReader, GGUFWriter, dequantize

    reader, writer = GGUFReader(path), GGUFWriter(target, "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            kind, *inner = field.types
            writer.add_key_value(field.name, field.contents(), kind, *inner[:1])
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, np.ascontiguousarray(values, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def summary(logits: np.ndarray) -> dict[str, Any]:
    """What is kept of logits (tokens, vocab): the best of each row, a sample of the last row."""
    best = logits.argmax(axis=1)
    return {
        "likeliest": best.tolist(),
        "their_logits": logits[np.arange(len(best)), best].round(5).tolist(),
        "last_logits": logits[-1, ::EVERY].round(5).tolist(),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
