"""The whole archive in the prompt, or the few cards that were fetched: what each costs, by the law.

The numbers of the explorer of `kitchenlib.plots.pantry`, and what there is to choose in it.

Assumed of kept notes: a cache holds one copy for all guests, and the attention reads it once for
each guest, as most kernels do. Where all guests ask about the same archive, a kernel that shares
the prefix reads it once for all of them: `Way.token_shared`.
"""

from __future__ import annotations

from typing import NamedTuple

from kitchenlib.chips import Chip, chip
from kitchenlib.inputs import count, dimension, unknown_name
from kitchenlib.miniatures.pantry import BEST, cards
from kitchenlib.models import Model, model
from kitchenlib.phases import decode_step
from kitchenlib.plots.billing import paid, rent_of
from kitchenlib.plots.style import footnote
from kitchenlib.prices import ChipHour
from kitchenlib.retrieval import flat_bytes, flat_search
from kitchenlib.serving import USABLE, max_batch, memory_needed, price_per_million, ttft
from kitchenlib.thinking import shared_prefix_step
from kitchenlib.units import human, many, significant

# --- what there is to choose ---------------------------------------------------------------------

ARCHIVE = len(cards())  #: cards of our own archive
TOKENS = 66  #: of a card of ours in a prompt, on average, as SmolLM2 counts them
DOCUMENTS = tuple(sorted({10, 50, 100, ARCHIVE, 500, 1_000, 2_000, 10_000, 100_000, 1_000_000}))
LENGTHS = (TOKENS, 128, 256, 512, 1_024)  #: tokens of a document
FETCHED = (1, 3, 5, 10, 20, 50)  #: documents in the prompt
MODELS = ("Llama-3.1-8B", "Llama-3.1-70B", "Llama-3.1-405B")
FRESH, KEPT = "no", "yes"
CACHED = (FRESH, KEPT)  #: whether the archive's notes were kept from an earlier question
QUESTION, REPLY = 32, 200  #: tokens that are new with each question, and that are written
DIM = 1024  #: values of a vector, as a trained embedding model gives them
ASKED = 1000  #: questions that a price is for
WORTH = 1.02  # a ratio nearer to 1 is none


class Way(NamedTuple):
    """One way to ask: how long the prompt is, and how much of it was read before.

    Attributes:
        name: "whole archive", "archive, cached", "3 best".
        prompt: its tokens.
        cached: those whose notes are there already.
        setting: the kitchen.
    """

    name: str
    prompt: int
    cached: int
    setting: PantrySetting

    @property
    def first(self) -> float:
        """Seconds to the first token (TTFT), nobody else's prompt before it."""
        of, on, chips = self.setting.of, self.setting.on, self.setting.chips
        return float(ttft(of, on, self.prompt, 1, self.cached, chips=chips))

    @property
    def notes(self) -> float:
        """Bytes of notes on a guest's prompt, all chips together; cached ones are held once."""
        return float(self.setting.of.kv_bytes(self.prompt))

    def token(self, guests: int | None = None) -> float:
        """Seconds of one token, half of the reply written, with so many guests (TPOT)."""
        batch = self.setting.batch if guests is None else guests
        step = decode_step(self.setting.of, self._noted, batch, chips=self.setting.chips)
        return float(step.time(self.setting.on))

    def token_shared(self) -> float:
        """The same in company, where the cached notes are read once for all guests."""
        each = self.setting
        if not self.cached:
            return self.token()
        own = self._noted - self.cached
        step = shared_prefix_step(each.of, self.cached, own, each.batch, chips=each.chips)
        return float(step.time(each.on))

    @property
    def price(self) -> float | None:
        """Dollars for `ASKED` questions, the kitchen always full; None without a rent.

        Cached notes are read again for each guest.
        """
        each, rent = self.setting, self.setting.rent
        if rent is None or rent.usd is None:
            return None
        sizes = self._noted, self.prompt, each.batch, self.cached
        paid = price_per_million(each.of, each.on, rent.usd, *sizes, chips=each.chips)
        return ASKED * float(paid.request(self.prompt, REPLY, self.cached))

    @property
    def room(self) -> int:
        """The most guests that fit with their whole reply; cached notes are held once for all.

        0 where the prompt is longer than what the model was made for.
        """
        each, longest = self.setting, self.prompt + REPLY
        if longest > (each.of.max_context or longest):
            return 0
        if not self.cached:
            return int(max_batch(each.of, each.on, longest, chips=each.chips))
        own = longest - self.cached
        one, two = (float(memory_needed(each.of, own, n, chips=each.chips)) for n in (1, 2))
        held = float(memory_needed(each.of, self.cached, 1, chips=each.chips))
        left = USABLE * (each.on.memory_bytes or 0.0) - held
        return max(int(left // (two - one)), 0)

    def obstacle(self) -> str:
        """Why it cannot be done, "" if it can."""
        each, most = self.setting, self.setting.of.max_context
        if not max_batch(each.of, each.on, 1, chips=each.chips):
            return f"the sack does not fit {each.chips} {each.on.short_label}"
        if most and self.prompt + REPLY > most:
            return f"{self.prompt:,} tokens, {each.of.name} reads {most:,}"
        if self.room < each.batch:
            room = f"there is room for {self.room:,}" if self.room else "nor does one"
            return f"{many(each.batch, 'guest')} do{'es' * (each.batch == 1)} not fit, {room}"
        return ""

    @property
    def _noted(self) -> int:
        return self.prompt + REPLY // 2


class PantrySetting(NamedTuple):
    """An archive and a kitchen: what the explorer can be set to.

    Attributes:
        documents: in the archive.
        tokens: of each.
        k: documents that are fetched for a question.
        cached: "yes" where the notes on the whole archive were kept from an earlier question, else
            "no". What is fetched is another choice for each question, and never cached.
        batch: guests served at once, each with the same archive and a question of its own.
        model, chip: catalogue names.
        chips: how many share the model.

    Whatever is wrong with a value raises `UnknownName` or ``ValueError`` when it is used.
    """

    documents: int = ARCHIVE
    tokens: int = TOKENS
    k: int = BEST
    cached: str = FRESH
    batch: int = 32
    model: str = "Llama-3.1-8B"
    chip: str = "H100 SXM"
    chips: int = 1

    @property
    def of(self) -> Model:
        """The model of the catalogue."""
        return model(self.model)

    @property
    def on(self) -> Chip:
        """The chip of the catalogue."""
        return chip(self.chip)

    @property
    def rent(self) -> ChipHour | None:
        """What an hour of the chip costs; None where nobody's price for it can be relied on."""
        return rent_of(self.on)

    @property
    def full(self) -> Way:
        """The whole archive before the question, its notes kept or not."""
        if self.cached not in CACHED:
            raise unknown_name("choice of cached", self.cached, CACHED)
        archive, kept = self._documents * self._tokens, self.cached == KEPT
        name = "archive, cached" if kept else "whole archive"
        return Way(name, archive + QUESTION, archive if kept else 0, self)

    @property
    def fetched(self) -> Way:
        """The documents that are nearest to the question, all of them where there are fewer."""
        best = min(dimension("k", self.k, "documents"), self._documents)
        return Way(f"{best} best", best * self._tokens + QUESTION, 0, self)

    @property
    def _documents(self) -> int:
        return dimension("documents", self.documents, "documents")

    @property
    def _tokens(self) -> int:
        count("batch", self.batch, "guests")
        return dimension("tokens", self.tokens, "tokens of a document")

    @property
    def search(self) -> float:
        """Seconds to compare a question with every vector, on one such chip."""
        return float(flat_search(self._documents, DIM).time(self.on))

    @property
    def vectors(self) -> float:
        """Bytes of the vectors."""
        return float(flat_bytes(self._documents, DIM))

    # in words

    def claim(self) -> str:
        """What fetching changes, in a sentence."""
        full, fetched = self.full, self.fetched
        whole, best = full.obstacle(), fetched.obstacle()
        if best:  # a kept archive is held once for all, what is fetched is not
            return f"{'No such kitchen' if whole else 'No room to fetch'}: {best}"
        if whole:
            return f"No whole archive: {whole}"
        some = f"{fetched.name.removesuffix(' best')} of {many(self.documents, 'card')}"
        first, token = fetched.first / full.first, fetched.token() / full.token()
        return f"{some}: time to the first word {factor(first)}, of each token {factor(token)}"

    def lead(self) -> str:
        """Where it cooks, and what is asked."""
        kept = ", notes kept" if self.cached == KEPT else ""
        return (
            f"{self.of.name} on {self.chips} {self.on.short_label}, {many(self.batch, 'guest')}, "
            f"one archive of {self.full.prompt - QUESTION:,} tokens{kept}"
        )

    def facts(self) -> dict[str, str]:
        """The numbers in words: name -> value with its unit."""
        full, fetched = self.full, self.fetched
        stuck = {"the whole archive": full.obstacle(), "what is fetched": fetched.obstacle()}
        return {
            "prompt": f"{full.prompt:,} or {fetched.prompt:,} tokens",
            **{name: f"not possible: {why}" for name, why in stuck.items() if why},
            "guests at most": f"{full.room:,} or {fetched.room:,}",
            "the search": f"{human(self.search, 's')} for {human(self.vectors, 'B')} of vectors",
        }

    def sources(self) -> str:
        """What the times are, what is asked, who carries the notes, and where the price is from."""
        carried = "" if self.cached == KEPT else "; notes are carried for each guest"
        return (
            f"Ideal times: a bound. Question {QUESTION} tokens, reply {REPLY}, 16 bit. A prompt is "
            f"read alone{carried}.{footnote(self.on)}\n{self._shared()}{paid(self.rent)}"
        )

    def _shared(self) -> str:
        """What a kernel that shares kept notes makes of them."""
        if self.cached != KEPT or self.full.obstacle():
            return ""
        price = "" if self.full.price is None else ", also in this price"
        return (
            f"Most kernels read kept notes again for each guest{price}; one that "
            f"shares them reads them once: {human(self.full.token_shared(), 's')} a token.\n"
        )


def factor(ratio: float) -> str:
    """A ratio in the way it works: "÷ 55" for less, "× 1.1" for more, "as before" for neither."""
    if abs(ratio - 1) < WORTH - 1:
        return "as before"
    larger = max(ratio, 1 / ratio)
    digits = 3 if larger < 1.095 or larger >= 99.5 else 2
    return f"{'×' if ratio > 1 else '÷'} {significant(larger, digits)}"


WORKED = PantrySetting()  #: the worked example: our own archive
