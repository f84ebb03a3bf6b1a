"""Appliances: a cook who thinks, uses a tool, looks at what came of it, and goes on (ReAct).

Each turn is a call of the language model: it is sent all that was said before, and writes a thought
and an action. `react` carries the action out and appends the observation. Whatever the cook writes,
the loop goes on: what cannot be done comes back as an observation that says why.

The loop is that of Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models",
arXiv 2210.03629. A cook is any function from the transcript to what is written next.

What the turns cost is counted with a real tokenizer (`Run.calls`) and priced by the law (`bill`).
Nobody waits in line, and the appliance takes no time.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from timeit import repeat
from typing import NamedTuple

from kitchenlib import data
from kitchenlib.chips import Chip
from kitchenlib.chips import chip as chip_called
from kitchenlib.inputs import dimension, instance, wrong
from kitchenlib.llm import LLM
from kitchenlib.miniatures.tools import LONGEST, Tool, calculator, recipe
from kitchenlib.models import Model
from kitchenlib.models import model as model_called
from kitchenlib.prices import Price, SheetPrice, sheet_price
from kitchenlib.serving import request_time
from kitchenlib.units import dollars, human, many

Cook = Callable[[str], str]
"""From the transcript so far to what is written next."""

_RULES = """You are a cook with appliances. Write a thought and one action, then wait:
Thought: what you need to know next
Action: name[input]
The appliance replies with an observation. When you know enough, write:
Answer: the answer
"""
_TOLD = "Write 'Action: name[input]' with one of the appliances, or 'Answer: ...'."
_TURNS = 8
_PAGE = 76  # characters of a line that is printed

TOOLS = (calculator, recipe)

# --- the loop ------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """One turn: what the cook wrote, and what came of it.

    Attributes:
        said: what the cook wrote, up to the end of its first action or answer.
        thought: the thought in it, "" where there is none.
        action: the action as written, "" where there is none.
        observation: what the cook was told; "" after an answer.
    """

    said: str
    thought: str
    action: str
    observation: str

    def __str__(self) -> str:
        told = f"Observation: {self.observation}\n" if self.observation else ""
        return f"{self.said}\n{told}"

    @property
    def failed(self) -> bool:
        """Whether the action could not be carried out."""
        return self.observation.startswith("Error: ")


@dataclass(frozen=True, repr=False)
class Run:
    """What happened between a question and its answer.

    Attributes:
        question: what was asked.
        tools: the appliances there were.
        turns: what was written and observed, turn by turn.
        answer: the answer; None where the turns ran out first.
    """

    question: str
    tools: tuple[Tool, ...]
    turns: tuple[Turn, ...]
    answer: str | None

    @property
    def stopped(self) -> bool:
        """Whether the limit of turns stopped it before there was an answer."""
        return self.answer is None

    @property
    def schemas(self) -> str:
        """The part of every prompt that describes the appliances."""
        return _described(self.tools)

    @property
    def opening(self) -> str:
        """The first prompt: rules, appliances, question."""
        return f"{_RULES}{self.schemas}{_asked(self.question)}"

    @property
    def prompts(self) -> list[str]:
        """What the model is sent in each call: the opening and all turns before it."""
        said = [str(turn) for turn in self.turns]
        return [self.opening + "".join(said[:n]) for n in range(len(said))]

    @property
    def transcript(self) -> str:
        """All of it, from the rules to the last turn."""
        return self.opening + "".join(map(str, self.turns))

    def __str__(self) -> str:
        turns = many(len(self.turns), "turn")
        end = f"(stopped after {turns} without an answer)" if self.stopped else ""
        said = f"{_asked(self.question)}{''.join(map(str, self.turns))}{end}".rstrip()
        return "\n".join(textwrap.fill(line, _PAGE) for line in said.splitlines())

    def __repr__(self) -> str:
        end = "stopped" if self.stopped else f"answer {self.answer!r}"
        return f"<Run: {many(len(self.turns), 'turn')}, {end}>"

    def calls(self, tokenize: Callable[[str], Sequence[int]]) -> list[Call]:
        """The tokens of each call.

        Args:
            tokenize: from text to token numbers, for example ``smol.tokenize``. Another model's
                tokenizer cuts the same text into a few more or fewer.
        """
        ends = [len(tokenize(text)) for text in (_RULES, _RULES + self.schemas, self.opening)]
        rules, schemas, question = ends[0], ends[1] - ends[0], ends[2] - ends[1]
        calls: list[Call] = []
        known: Sequence[int] = ()  # the prompt before, and what was written to it
        for prompt, turn in zip(self.prompts, self.turns, strict=True):
            ids, written = tokenize(prompt), tokenize(prompt + turn.said)
            kept = max(_alike(known, ids) - 1, 0)  # the last token written was never read
            new = len(ids) - kept if kept else 0
            earlier = len(ids) - new - ends[2]
            again = min(earlier, 0)  # where nothing was written, the question's end is read anew
            reply = max(len(written) - len(ids), 1)
            calls.append(Call(rules, schemas, question + again, earlier - again, new, reply))
            known = written
        return calls


def react(question: str, cook: Cook, tools: Sequence[Tool] = TOOLS, turns: int = _TURNS) -> Run:
    """Let a cook answer a question with appliances, turn by turn.

    Of what the cook writes in a turn only the first action or answer counts, and nothing behind it:
    a cook who goes on and invents the observation is not believed.

    Args:
        question: what is asked.
        cook: writes each turn: `scripted_cook`, or a real model with `llm_cook`.
        tools: the appliances, each with a name of its own.
        turns: after so many it ends, answered or not.

    Raises:
        ValueError: no question, no appliance, two of one name, or a cook that gives no text.
    """
    if not isinstance(question, str) or not question.strip():
        raise wrong("question", question, "ask something")
    if not callable(cook):
        raise wrong("cook", cook, "give a function from text to text, as llm_cook(smol) makes it")
    named = _named(tools)
    taken: list[Turn] = []
    run = Run(" ".join(question.split()), tuple(tools), (), None)
    for _ in range(dimension("turns", turns, "turns")):
        said = cook(run.transcript)
        if not isinstance(said, str):
            raise wrong("cook", said, "it has to write text")
        turn, answer = _turn(said, named)
        taken.append(turn)
        run = Run(run.question, run.tools, tuple(taken), answer)
        if answer is not None:
            break
    return run


def _asked(question: str) -> str:
    return f"Question: {question}\n"


def _described(tools: Sequence[Tool]) -> str:
    return "".join(f"{tool.schema}\n" for tool in tools)


def _named(tools: Sequence[Tool]) -> dict[str, Tool]:
    if not isinstance(tools, Sequence) or not tools:
        raise wrong("tools", tools, "give appliances, for example [calculator, recipe]")
    for tool in tools:
        instance("tools", tool, Tool, "appliances.calculator")
    named = {tool.name: tool for tool in tools}
    if len(named) < len(tools):
        raise wrong("tools", [tool.name for tool in tools], "give each a name of its own")
    return named


_LINE = re.compile(r"^[ \t]*(Thought|Action|Answer)[ \t]*:[ \t]*(.*?)[ \t\r]*$", re.M)
_ACTION = re.compile(r"(\w+)[ \t]*\[(.*)\]")


def _turn(text: str, tools: dict[str, Tool]) -> tuple[Turn, str | None]:
    """What was written as a turn, carried out; and the answer, if it is one."""
    text = text[:LONGEST]
    thought = ""
    for line in _LINE.finditer(text):
        kind, rest = line.groups()
        said = text[: line.end()].strip()
        if kind == "Action":
            return Turn(said, thought, rest, _carried_out(rest, tools)), None
        if kind == "Answer" and rest:
            return Turn(said, thought, "", ""), rest
        thought = thought or rest
    missing = "nothing was written" if not text.strip() else "there is no action and no answer"
    return Turn(text.strip(), thought, "", f"Error: {missing}. {_TOLD}"), None


def _carried_out(action: str, tools: dict[str, Tool]) -> str:
    """What comes of an action."""
    match = _ACTION.fullmatch(action)
    if not match:
        return f"Error: the action '{action}' cannot be read. {_TOLD}"
    name, given = match.groups()
    if name not in tools:
        return f"Error: no appliance is called '{name}'. There are: {', '.join(tools)}."
    return tools[name].use(given)


# --- cooks ---------------------------------------------------------------------------------------

QUESTION = (
    "137 guests begin with Red Lentil Dal Soup and Crab Toast. "
    "How many grams do the lentils and the crab weigh together?"
)
_WORDS = "one two three four five six seven eight nine ten".split()
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS, start=1)}


def scripted_cook(transcript: str) -> str:
    """A cook who always does the same with the same transcript, and answers `QUESTION`.

    What to do next is in the script. The numbers are not: guests, grams and results are read from
    the transcript. It makes one mistake (it copies a unit into the calculator), is told so, and
    mends it.
    """
    guests = _read(r"Question: (\d+) guests", transcript)
    soup = _read(r"Observation: .*?(\d+ g) of [\w ]*lentils.* feeds (\w+) people", transcript)
    toast = _read(r"Observation: .*?(\d+ g) of crab a head", transcript)
    result = _read(r"Observation: ([\d.]+)$", transcript)
    if not guests:
        return "Answer: I only know what to do about guests."
    if result:
        return f"Thought: That is the sum.\nAnswer: {result[0]} g"
    if not soup:
        if "Action: recipe[Red Lentil" in transcript:
            return "Answer: The card does not say it."
        return "Thought: First the card of the soup.\nAction: recipe[Red Lentil Dal Soup]"
    if not toast:
        if "Action: recipe[Crab" in transcript:
            return "Answer: The card does not say it."
        return "Thought: Now the card of the toast.\nAction: recipe[Crab Toast]"
    pot, served = soup
    sum_of = f"{pot} / {_NUMBERS.get(served, served)} * {guests[0]} + {toast[0]} * {guests[0]}"
    if "Observation: Error" not in transcript:
        return f"Thought: Grams a head, times guests, of both.\nAction: calculator[{sum_of}]"
    without = sum_of.replace(" g", "")
    return f"Thought: Without the units, then.\nAction: calculator[{without}]"


def _read(pattern: str, transcript: str) -> tuple[str, ...]:
    """What the groups match in the first line that begins with `pattern`, nothing without one.

    Only where a line begins: whoever asks may have written of an observation, too.
    """
    match = re.search(f"^{pattern}", transcript, re.M)
    return match.groups() if match else ()


def llm_cook(smol: LLM, tokens: int = 40) -> Cook:
    """A cook who is a real model: each turn is its likeliest text after the whole transcript.

    It reads all of it again in each turn: here nothing is kept between the calls.

    Args:
        smol: the model.
        tokens: tokens of a turn at most.
    """
    instance("smol", smol, LLM, "llm.load()")
    most = dimension("tokens", tokens, "tokens")
    return lambda transcript: "".join(smol.stream(transcript, tokens=most))


# --- what it costs -------------------------------------------------------------------------------


class Call(NamedTuple):
    """The tokens of one call of the model.

    Attributes:
        rules, schemas, question: of the opening, which every call is sent again.
        earlier: turns that it was sent, or that it wrote itself, in the calls before.
        new: what has been added since: the last observation. The first call has none.
        reply: tokens that it writes; the one that ends its turn is not counted.
    """

    rules: int
    schemas: int
    question: int
    earlier: int
    new: int
    reply: int

    @property
    def prompt(self) -> int:
        """Tokens that are sent: all that was said before."""
        return self.rules + self.schemas + self.question + self.earlier + self.new

    @property
    def cached(self) -> int:
        """Tokens of the prompt that need not be read again, if the notes of it were kept."""
        return self.prompt - self.new if self.new else 0


class ToolSet(NamedTuple):
    """What the schemas of a real set of tools weigh: so many `tools`, so many `tokens`."""

    name: str
    tools: int
    tokens: int
    source: str

    @property
    def each(self) -> float:
        """Tokens of one schema, the mean."""
        return self.tokens / self.tools


#: A reader's prompt grew from 34,000 to 80,000 tokens with this set of 66.
REAL_TOOLS = ToolSet("GitHub's", 66, 80_000 - 34_000, "github/github-mcp-server#1286, October 2025")


def worked() -> list[Call]:
    """The calls of the scripted cook, as SmolLM2's tokenizer counts them; needs no weights."""
    return [Call(*(int(row[name]) for name in Call._fields)) for row in data.rows("tool_turns.csv")]


def equipped(calls: Sequence[Call], schemas: int) -> list[Call]:
    """The same calls with appliances whose schemas weigh `schemas` tokens together."""
    tokens = dimension("schemas", schemas, "tokens")
    return [call._replace(schemas=tokens) for call in calls]


class Bill(NamedTuple):
    """What a run costs.

    Attributes:
        calls: of the model.
        sent: prompt tokens of all calls.
        read: those of them that the model has to read.
        written: tokens of all replies.
        seconds: of all calls, one after the other; no waiting, and the appliances take no time.
        usd: what a price sheet asks for it.
    """

    calls: int
    sent: int
    read: int
    written: int
    seconds: float
    usd: float

    def __str__(self) -> str:
        return (
            f"{self.calls} calls: {self.sent:,} tokens sent, {self.read:,} of them read, "
            f"{self.written:,} written, {human(self.seconds, 's')}, {dollars(self.usd)}"
        )


def sheet() -> SheetPrice:
    """The row of a price sheet that `bill` takes where none is given."""
    return sheet_price(provider="openai", model="gpt-5-mini")


def bill(
    calls: Sequence[Call],
    caching: bool = True,
    model: Model | None = None,
    chip: Chip | None = None,
    chips: int = 4,
    price: Price | None = None,
) -> Bill:
    """What the calls of a run take on the ideal law, one guest alone, and cost on a price sheet.

    Args:
        calls: of `Run.calls`, or `worked`.
        caching: whether the notes of what was sent before are kept, and nobody else's are in the
            way (prefix caching). Nothing is kept from other guests, so the first call is read
            whole. Where keeping is charged apart, that is not counted.
        model, chip, chips: in 16 bit; Llama-3.1-70B on four H100 SXM.
        price: None takes that of `sheet`. One without a price for cached tokens asks as much for
            them as for others.

    The seconds and the dollars are of two kitchens: nobody rents out the first one by the token.
    """
    if not calls:
        raise wrong("calls", calls, "give the calls of a run, for example appliances.worked()")
    model, chip = model or model_called("Llama-3.1-70B"), chip or chip_called("H100 SXM")
    price = sheet().price if price is None else price
    seconds = usd = 0.0
    for call in calls:
        cached = call.cached if caching else 0
        seconds += float(request_time(model, chip, call.prompt, call.reply, 1, cached, chips=chips))
        usd += float(price.request(call.prompt, call.reply, cached))
    return Bill(
        calls=len(calls),
        sent=sum(call.prompt for call in calls),
        read=sum(call.prompt - (call.cached if caching else 0) for call in calls),
        written=sum(call.reply for call in calls),
        seconds=seconds,
        usd=usd,
    )


def timed(tool: Tool, text: str, times: int = 1000) -> float:
    """Seconds that an appliance takes on this machine: the best mean of five rounds.

    Args:
        tool: the appliance.
        text: its input.
        times: uses in a round.
    """
    instance("tool", tool, Tool, "appliances.calculator")
    number = dimension("times", times, "uses")
    return min(repeat(lambda: tool.run(text), number=number, repeat=5)) / number


def _alike(some: Sequence[int], others: Sequence[int]) -> int:
    """How many tokens are the same, from the front."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(some), len(others)))
