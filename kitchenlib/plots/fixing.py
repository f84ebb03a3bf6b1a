"""A kitchen with its fixes: what one pass takes, what comes of it, and which fix would help next.

The numbers of the explorer of `kitchenlib.plots.stacking`, and what there is to choose in it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from kitchenlib.batching import BatchLimits, batch_limits
from kitchenlib.chips import Chip, chip
from kitchenlib.efficiency import efficiency, estimate
from kitchenlib.inputs import unknown_name
from kitchenlib.models import Model, model
from kitchenlib.phases import verify_step
from kitchenlib.plots.billing import paid, rent_of
from kitchenlib.plots.clipboards import unshared
from kitchenlib.plots.style import footnote, percent
from kitchenlib.precision import number_format
from kitchenlib.prices import ChipHour
from kitchenlib.roofline import Work
from kitchenlib.serving import max_batch, memory_needed
from kitchenlib.speculation import expected_tokens
from kitchenlib.units import dollars, human, many, significant

# --- what there is to choose ---------------------------------------------------------------------

MODELS = ("Llama-3.1-8B", "Llama-2-70B", "Llama-3.1-70B", "Llama-3.1-405B", "Mixtral-8x7B-v0.1")
CHIPS = (
    "A100 SXM 80GB",
    "H100 SXM",
    "H200 SXM",
    "B200 SXM (HGX/DGX)",
    "MI300X",
    "L40S",
    "RTX 4090",
)
WEIGHTS = ("bf16", "fp8", "int8", "int4", "int4-g128", "int4-g32", "Q4_K_M")
NOTES = ("bf16", "fp8", "int4")
SHARED, EACH = "as is", "one for each query head"
CLIPBOARDS = (SHARED, EACH)
DRAFTED = tuple(range(9))  #: tokens
ACCEPTANCE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_GUESTS = 256

#: The four fixes, and what of a kitchen each one sets.
FIXES = {"INT4": "weights", "batching": "batch", "GQA": "clipboards", "speculation": "drafted"}

_PACE = {
    "memory": "the waiter (memory)",
    "compute": "the chef (compute)",
    "interconnect": "the exchanges between chips",
}
_FORMATS = ("int4-g128", "fp8", "bf16")  # of weights, to be tried
_GUESSES = 5  # to be tried where none gain
WORTH = 1.02  # a gain below it is none
_PER_MILLION = 1e6 / 3600  # a million tokens, an hour in seconds


class Pass(NamedTuple):
    """The seconds of one pass, by what they go to.

    Attributes:
        sack, notes: carrying weights, and carrying notes.
        cuts: what cutting takes beyond the carrying.
        exchanges: between the chips.
        fixed: what the pass takes whatever it does.
    """

    sack: float
    notes: float
    cuts: float
    exchanges: float
    fixed: float


class Move(NamedTuple):
    """One fix added to a kitchen, or taken out of it.

    Attributes:
        name: what is changed.
        total, each: factors on the tokens a second of all guests, and of one.
        room: guests for whom there would be room.
        fits: whether there would be for those that there are then.
    """

    name: str
    total: float
    each: float
    room: int
    fits: bool


class Fixes(NamedTuple):
    """A kitchen and its fixes: what the explorer can be set to.

    Drafts are looked up in the text: they cost nothing but the checking of them.

    Attributes:
        model: catalogue name.
        weights, kv: number formats of the weights and of the notes.
        clipboards: "as is", the model's own KV heads, or "one for each query head" (which makes
            the matrices that write them larger, too).
        batch: guests served at once.
        tokens: of notes, of each guest.
        drafted: tokens guessed for each guest and pass; 0 where nothing is guessed.
        acceptance: probability that a guess is right, given that those before it were.
        chip, chips: catalogue name, and how many share the model.
        efficiency: how far the chips stay from the law, by name (`kitchenlib.efficiency`).

    Whatever is wrong with a value raises `UnknownName` or ``ValueError`` when it is used.
    """

    model: str = "Llama-2-70B"
    weights: str = "int4-g128"
    kv: str = "bf16"
    clipboards: str = SHARED
    batch: int = 32
    tokens: int = 2048
    drafted: int = 5
    acceptance: float = 0.8
    chip: str = "H100 SXM"
    chips: int = 4
    efficiency: str = "ideal"

    # kitchens beside this one

    @property
    def plain(self) -> Fixes:
        """The same chips and notes without any fix."""
        return self._replace(weights="bf16", kv="bf16", clipboards=EACH, batch=1, drafted=0)

    def only(self, *names: str) -> Fixes:
        """The plain kitchen with these of the fixes (see `FIXES`) as they are here."""
        return self.plain._replace(**{FIXES[name]: getattr(self, FIXES[name]) for name in names})

    # what the names stand for

    @property
    def of(self) -> Model:
        """The model, with as many clipboards as asked for."""
        return _with_clipboards(self.model, self.clipboards)

    @property
    def on(self) -> Chip:
        """One of the chips, with the speeds that are reached."""
        return efficiency(self.efficiency).on(chip(self.chip))

    @property
    def powder(self) -> str:
        """What the lighter weights are called."""
        return "INT4" if number_format(self.weights).bits < 6 else self.weights

    @property
    def heads(self) -> int:
        """Clipboards: KV heads of a layer."""
        return self.of.blocks[0].attention.kv_heads

    @property
    def rent(self) -> ChipHour | None:
        """What an hour of the chip costs; None where nobody's price for it can be relied on."""
        return rent_of(chip(self.chip))

    # one pass

    @property
    def work(self) -> Work:
        """The work of one pass, on one of the chips."""
        sizes = self.tokens, self.drafted, self.batch
        return verify_step(self.of, *sizes, self.weights, self.kv, chips=self.chips)

    @property
    def seconds(self) -> float:
        """Of one pass."""
        return float(estimate(self.work, chip(self.chip), efficiency(self.efficiency)))

    def split(self) -> Pass:
        """The seconds of one pass, by what they go to."""
        work, on = self.work, self.on
        sack, notes = (float(n) / on.bandwidth for n in (work.weight_bytes, work.kv_bytes))
        times = work.times(on)
        exchanges = float(times.get("all_reduce", 0.0))
        cuts = max(float(sum(times.values())) - sack - notes - exchanges, 0.0)
        return Pass(sack, notes, cuts, exchanges, efficiency(self.efficiency).fixed)

    @property
    def bound(self) -> str:
        """Which side sets the pace: "memory", "compute" or "interconnect"."""
        return str(self.work.bound(self.on))

    @property
    def pace(self) -> str:
        """What sets the pace, in words."""
        if efficiency(self.efficiency).fixed > max(self.work.sides(self.on)):
            return "what every pass takes besides"
        return _PACE[self.bound]

    @property
    def chef(self) -> float:
        """The share of the pass in which the chef cuts."""
        return float(self.work.sides(self.on)[0]) / self.seconds

    @property
    def waiter(self) -> float:
        """The share of the pass in which the waiter carries."""
        return float(self.work.bytes) / self.on.bandwidth / self.seconds

    # what comes of it

    @property
    def yields(self) -> float:
        """Tokens that one pass gives to all guests."""
        return self.batch * float(expected_tokens(self.acceptance, self.drafted))

    def tokens_a_pass(self) -> str:
        """`yields` in words."""
        whole = float(self.yields).is_integer() and self.yields < 1000
        number = f"{self.yields:.0f}" if whole else significant(self.yields)
        return f"{number} token{'s' * (self.yields != 1)}"

    @property
    def total(self) -> float:
        """Tokens a second of all guests."""
        return self.yields / self.seconds

    @property
    def each(self) -> float:
        """Tokens a second of one guest."""
        return self.total / self.batch

    @property
    def price(self) -> float | None:
        """Dollars per million tokens written, the kitchen always full; None without a rent."""
        if self.rent is None or self.rent.usd is None:
            return None
        return self.rent.usd * self.chips / self.total * _PER_MILLION

    # what fits

    @property
    def room(self) -> int:
        """The most guests that fit."""
        on, formats = chip(self.chip), (self.weights, self.kv)
        return int(max_batch(self.of, on, self.tokens, *formats, self.chips))

    @property
    def taken(self) -> float:
        """The share of the memory that sack and notes take."""
        formats = self.weights, self.kv
        needed = memory_needed(self.of, self.tokens, self.batch, *formats, self.chips)
        return float(needed) / (chip(self.chip).memory_bytes or float("inf"))

    def obstacle(self) -> str:
        """Why there can be no such kitchen, "" if there can."""
        on, most = chip(self.chip), self.room
        if most >= self.batch:
            return ""
        if most:
            return f"{many(self.batch, 'guest')} do not fit, {most:,} would"
        if not max_batch(self.of, on, 1, self.weights, self.kv, self.chips):
            return f"the sack does not fit {self.chips} {on.short_label}"
        return "the sack and one guest's notes do not fit"

    def ends(self) -> str:
        """What ends the growth of the batch first."""
        limits = _limits(self._replace(batch=1, drafted=0))
        if limits.first == "compute":
            guessed = " without guesses" if self.drafted else ""
            return f"{self.room:,}; the chef is busy from {int(limits.compute):,} on{guessed}"
        return f"{self.room:,}, then the memory is full"

    # what would help

    def moves(self) -> list[Move]:
        """Each fix alone, added to this kitchen or, where it has it, taken out or exchanged."""
        return list(_moves(self))

    def _changed(self) -> list[tuple[str, Fixes]]:
        fewer = self.obstacle() or 2 * self.batch > MOST_GUESTS
        guests = max(self.batch // 2, 1) if fewer else 2 * self.batch
        shared = self.clipboards == SHARED
        bits = number_format(self.weights).bits
        others = [form for form in _FORMATS if not _alike(number_format(form).bits, bits)]
        notes, drafted = "fp8" if self.kv == "bf16" else "bf16", self._drafted()
        return [
            *((f"weights in {form}", self._replace(weights=form)) for form in others),
            (f"notes in {notes}", self._replace(kv=notes)),
            (f"{'half' if fewer else 'twice'} the guests", self._replace(batch=guests)),
            ("a clipboard per head", self._replace(clipboards=EACH))
            if shared
            else ("shared clipboards", self._replace(clipboards=SHARED)),
            (_guesses(drafted), self._replace(drafted=drafted)),
        ]

    def _drafted(self) -> int:
        """Guesses to try: the number that gains most, or, where that is made, none."""
        best = max(DRAFTED, key=lambda number: self._replace(drafted=number).total)
        if best != self.drafted:
            return best
        return 0 if self.drafted else _GUESSES

    def advice(self) -> str:
        """Which of the moves to make first."""
        moves = [move for move in self.moves() if move.fits]
        if self.obstacle():
            roomy = max(moves, key=lambda move: move.room, default=None)
            if roomy:
                return f"{roomy.name}: room for {roomy.room:,}"
            roomy = max(self.moves(), key=lambda move: move.room)
            if roomy.room <= self.room:
                return "more or larger chips"
            return f"{roomy.name}: room for {roomy.room:,}, not enough yet"
        best = max(moves, key=lambda move: move.total)
        own = max((m for m in moves if not m.name.endswith("guests")), key=lambda move: move.each)
        if best.name == own.name and best.total >= WORTH:
            return f"{best.name}: {_gain(best.total)} the tokens"
        told = {
            f"{best.name}: {_gain(best.total)} for all": best.total,
            f"{own.name}: {_gain(own.each)} for one guest": own.each,
        }
        worth = "; ".join(words for words, gain in told.items() if gain >= WORTH)
        return worth or f"none of these: {self.pace} sets the pace"

    # in words

    def claim(self) -> str:
        """The kitchen in a sentence."""
        if self.obstacle():
            return f"No such kitchen: {self.obstacle()}"
        plain = self.plain
        if self == plain:
            return f"The plain kitchen: {significant(self.total)} tokens a second for one guest"
        told = f"{_number(self.total / plain.total)} times the tokens of a plain kitchen"
        if self.batch == 1:
            return told
        return f"{told}, for each guest {_number(self.each / plain.each)} times"

    def lead(self) -> str:
        """Where it cooks."""
        on, most = chip(self.chip), self.of.max_context
        made = f" (made for {most:,})" if most and self.tokens > most else ""
        return (
            f"{self.model} on {self.chips} {on.short_label}, {self.tokens:,} tokens of notes"
            f"{made}, efficiency: {self.efficiency}"
        )

    def who(self) -> str:
        """Which fixes it has."""
        guessed = _guesses(self.drafted) + (f" at {self.acceptance:g}" if self.drafted else "")
        return (
            f"weights {self.weights}, notes {self.kv}, {many(self.batch, 'guest')}, "
            f"{many(self.heads, 'clipboard')}, {guessed}"
        )

    def facts(self) -> dict[str, str]:
        """The numbers in words: name -> value with its unit."""
        made: dict[str, str] = {"this kitchen": f"not possible: {self.obstacle()}"}
        if not self.obstacle():
            price = "no price to rely on" if self.price is None else dollars(self.price)
            made = {
                "a guest": f"{significant(self.each)} tokens a second",
                "all guests": f"{significant(self.total)} tokens a second",
                "a million tokens": price,
                "chef": f"{percent(self.chef)} busy",
            }
        return {
            "one pass": f"{human(self.seconds, 's')} for {self.tokens_a_pass()}",
            **made,
            "the pace is set by": self.pace,
            "guests at most": self.ends(),
            "which fix first": self.advice(),
        }

    def times(self) -> str:
        """What kind of times these are."""
        named = efficiency(self.efficiency).name
        return "Ideal times" if named == "ideal" else f'Times at the efficiency "{named}"'

    def sources(self) -> str:
        """Where the price comes from, when it held, and what the times are."""
        bound = ": a bound" if efficiency(self.efficiency).name == "ideal" else ""
        return (
            f"{self.times()}{bound}. Guesses cost nothing, and each is as likely to be right; the "
            f"kitchen is always full.{footnote(chip(self.chip))}\n{paid(self.rent)}"
        )


def _guesses(number: int) -> str:
    if not number:
        return "no guesses"
    return "1 guess" if number == 1 else f"{number} guesses"


def times(factor: float) -> str:
    """A factor as it is shown: "× 3.7"."""
    return f"× {_number(factor)}"


def factor_of(ratio: float) -> str:
    """A factor in the way it works: "÷ 3.7" for less, "× 32" for more."""
    return times(ratio) if ratio >= 1 else times(1 / ratio).replace("×", "÷")


def _number(factor: float) -> str:
    return significant(factor, 3 if factor >= 99.5 else 2)


def _gain(factor: float) -> str:
    return f"× {significant(factor)}"


def _alike(bits: float, others: float) -> bool:
    """Whether two formats weigh about the same."""
    return 0.75 < bits / others < 1.33


@lru_cache(64)
def _moves(kitchen: Fixes) -> tuple[Move, ...]:
    total, each = kitchen.total, kitchen.each
    return tuple(
        Move(name, other.total / total, other.each / each, other.room, other.room >= other.batch)
        for name, other in kitchen._changed()
    )


@lru_cache(64)
def _limits(kitchen: Fixes) -> BatchLimits:
    formats = kitchen.weights, kitchen.kv
    return batch_limits(kitchen.of, kitchen.on, kitchen.tokens, None, *formats, chips=kitchen.chips)


@cache
def _with_clipboards(name: str, clipboards: str) -> Model:
    if clipboards not in CLIPBOARDS:
        raise unknown_name("choice of clipboards", clipboards, CLIPBOARDS)
    return model(name) if clipboards == SHARED else unshared(model(name))


WORKED = Fixes()  #: the worked example: all four at once
#: Where the explorer starts: no fix but the clipboards that the model was trained with.
UNFIXED = WORKED._replace(weights="bf16", batch=1, drafted=0, acceptance=0.6)
