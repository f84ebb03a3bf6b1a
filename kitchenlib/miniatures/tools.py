"""Appliances that a cook may ask for: a calculator, and a book of recipe cards.

A `Tool` goes from text to text. Whatever happens in it, the cook who asked is told.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kitchenlib.inputs import MOST, wrong
from kitchenlib.miniatures.pantry import ours

LONGEST = 2000  #: characters that are kept of what is written or observed in one turn


@dataclass(frozen=True)
class Tool:
    """An appliance: what it is called, what it is for, and what it does.

    Attributes:
        name: one word, by which the cook asks for it.
        description: a sentence for the cook.
        run: from the input to the result, both text. What it raises becomes an observation.
    """

    name: str
    description: str
    run: Callable[[str], str] = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise wrong("name", self.name, "give one word, for example 'calculator'")
        if not isinstance(self.description, str) or not self.description.strip():
            raise wrong("description", self.description, "say in a sentence what it is for")
        if not callable(self.run):
            raise wrong("run", self.run, "give a function from text to text")

    @property
    def schema(self) -> str:
        """How the appliance is described to the cook, in the form that tool interfaces use (JSON).

        It stands in every prompt, whether the appliance is used or not.
        """
        given = {"type": "object", "properties": {"input": {"type": "string"}}}
        return json.dumps(
            {
                "name": self.name,
                "description": self.description,
                "parameters": given | {"required": ["input"]},
            }
        )

    def use(self, text: str) -> str:
        """What the cook observes: the result, or "Error: ..." with what was wrong."""
        try:
            told = _in_a_line(self.run(text))
            return told or "(nothing)"
        except Exception as error:  # an appliance may break in any way: the cook is told
            return f"Error: {_in_a_line(error) or type(error).__name__}"


def _in_a_line(said: object) -> str:
    """As text in one line: what an appliance says must not look like what the cook wrote."""
    return " ".join(str(said).split())[:LONGEST]


_ALLOWED = "only numbers, + - * / and parentheses: no units, no names, no commas"
_FOREIGN = re.compile(r"[^0-9.+\-*/() ]+")
_MOST = 100  # characters of a calculation
_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def calculate(text: str) -> str:
    """The value of an expression of numbers, ``+ - * /`` and parentheses; nothing else is run.

    >>> calculate("250 / 5 * 137")
    '6850'

    Raises ``ValueError`` for anything else, for a division by zero, and for more than 100
    characters.
    """
    if len(text) > _MOST:
        raise ValueError(f"{len(text):,} characters are too many: at most {_MOST}")
    foreign = _FOREIGN.search(text)
    if foreign:
        raise ValueError(f"'{foreign[0]}' cannot be calculated: {_ALLOWED}")
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise ValueError(f"'{text}' is no calculation: {_ALLOWED}") from None
    except ZeroDivisionError:
        raise ValueError(f"'{text}' divides by zero") from None
    exact = abs(value) < MOST and value == int(value)  # with all its digits, not as 1.2e+12
    return str(int(value)) if isinstance(value, int) or exact else f"{value:.12g}"


def _value(node: ast.expr) -> int | float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
        return _value(node.operand)
    raise ValueError(f"'{ast.unparse(node)}' cannot be calculated: {_ALLOWED}")


def look_up(text: str) -> str:
    """The recipe card nearest to `text`, with its name (see `kitchenlib.miniatures.pantry`).

    Raises ``ValueError`` where no word of it stands on any card.
    """
    (found,) = ours().search(text, k=1)
    return str(found.card)


calculator = Tool(
    "calculator", "Calculates with numbers, + - * / and parentheses. No units.", calculate
)
recipe = Tool("recipe", "Finds the recipe card that fits a dish best.", look_up)
