"""What the Markdown of a cell says: its prose, its headings, its links, its glossary references."""

import html
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

_GLOSSARY = "glossary:"  # a scheme of our own: marks links that the glossary resolved
_TAG = re.compile(r"<[^>]*>")
_BRACKETS = re.compile(r"\[[^\[\]]*[A-Za-z][^\[\]]*\](?:\[[^\[\]]+\])?")
_HTML_LINK = re.compile(r"""\b(?:href|src)=["']([^"']+)""")
_LINK_PLACE = re.compile(
    r"""(\]\(<?|^\s*\[[^\]]+\]:\s+<?|\b(?:href|src)=["'])([^)\s"'>]+)""", re.MULTILINE
)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#|/", re.IGNORECASE)
_REFERENCE = re.compile(r"\[([^\[\]]+)\](?:\[[^\[\]]*\])?")
_SPACES = re.compile(r"\s+")
_FIRST_SENTENCE = re.compile(r".*?[.?!](?= [A-Z(]|$)|.+")


def _parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"store_labels": True}).enable(["table", "strikethrough"])
    markdown.use(dollarmath_plugin)
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]  # as it was written
    return markdown


_MARKDOWN = _parser()
_UNJOINED = _parser().disable("text_join")  # keeps \[ apart from [


def _inline(tokens: list[Token]) -> Iterator[Token]:
    """All tokens, those inside paragraphs included."""
    for token in tokens:
        yield token
        if token.children and token.type == "inline":
            yield from _inline(token.children)


def prose(text: str) -> str:
    """The words and numbers a reader sees: no code, no link targets, no markup, one line a block.

    A reference to the glossary counts as its words, whether the glossary is there or not.
    """
    blocks = []
    for token in _MARKDOWN.parse(text):
        if token.type == "inline":
            blocks.append(_sentence(token))
        elif token.type in ("html_block", "math_block"):
            blocks.append(_words(token))
    return "\n".join(filter(None, (_SPACES.sub(" ", block).strip() for block in blocks)))


def _sentence(inline: Token) -> str:
    return "".join(map(_words, inline.children or []))


def _words(token: Token) -> str:
    match token.type:
        case "text":
            return _REFERENCE.sub(r"\1", token.content)
        case "softbreak" | "hardbreak" | "code_inline":
            return " "
        case "image":
            return token.content
        case "html_block" | "html_inline":
            return html.unescape(_TAG.sub(" ", token.content))
        case "math_inline" | "math_block":
            return _formula(token.content)
        case _:
            return ""


def _formula(tex: str) -> str:
    tex = re.sub(r"\\(?:text|mathrm|rm)\s*\{([^}]*)\}", r"\1", tex)
    tex = re.sub(r"\\[,;:! ]|~|\\quad", " ", tex.replace("{,}", ",").replace(r"\times", "×"))
    return tex.replace("\\%", "%")


def headings(text: str) -> list[tuple[int, str]]:
    """Level and words of every heading."""
    tokens = _MARKDOWN.parse(text)
    return [
        (int(token.tag[1]), _sentence(inline).strip())
        for token, inline in pairwise(tokens)
        if token.type == "heading_open"
    ]


def first_sentences(text: str) -> dict[str, str]:
    """Heading -> first sentence of the paragraph that follows it, fit for the title of a link.

    That is plain text on one line: links are their words, double quotes single, no backslashes.
    """
    tokens = _MARKDOWN.parse(text)
    found = {}
    for place, token in enumerate(tokens[:-2]):
        if token.type == "heading_close" and tokens[place + 1].type == "paragraph_open":
            heading = _sentence(tokens[place - 1]).strip()
            found[heading] = _title(tokens[place + 2])
    return found


def _title(inline: Token) -> str:
    raw = ("text", "code_inline")
    words = (t.content if t.type in raw else _words(t) for t in inline.children or [])
    line = _REFERENCE.sub(r"\1", _SPACES.sub(" ", "".join(words)).strip())
    first = _FIRST_SENTENCE.match(line.replace('"', "'").replace("\\", ""))
    return first[0] if first else ""


def glossary_references(text: str, terms: Mapping[str, str]) -> dict[str, str]:
    """Labels of `text` that the glossary defines, with their anchors, in order of appearance.

    Args:
        terms: term -> anchor. Case and spacing do not matter, as in Markdown.

    Raises:
        ValueError: something in square brackets is neither a link nor a term.
    """
    known = {
        normalizeReference(term): {"href": _GLOSSARY + anchor, "title": ""}
        for term, anchor in terms.items()
    }
    used: dict[str, str] = {}
    for token in _inline(_UNJOINED.parse(text, {"references": known})):
        if token.type == "text" and (broken := _BRACKETS.search(token.content)):
            raise ValueError(
                f"{broken[0]} is not a term of the glossary: add the term to glossary.py, or write "
                rf"\{broken[0]} for plain brackets"
            )
        href = _target(token)
        if href.startswith(_GLOSSARY):
            used.setdefault(str(token.meta["label"]).lower(), href.removeprefix(_GLOSSARY))
    return used


def one_folder_down(text: str) -> str:
    """`text` as a file one folder further down needs it: relative links start with ``../``."""
    relative = set(relative_links(text))

    def moved(match: re.Match[str]) -> str:
        return match[1] + ("../" if match[2] in relative else "") + match[2]

    return _LINK_PLACE.sub(moved, text)


def relative_links(text: str) -> list[str]:
    """Targets of links and pictures that are files of this collection, as they are written."""
    return [link for link in _links(text) if link and not _ELSEWHERE.match(link)]


def _links(text: str) -> Iterator[str]:
    env: dict[str, Any] = {}
    for token in _inline(_MARKDOWN.parse(text, env)):
        if token.type in ("html_block", "html_inline"):
            yield from _HTML_LINK.findall(token.content)
        elif href := _target(token):
            yield href
    yield from (reference["href"] for reference in env.get("references", {}).values())


def _target(token: Token) -> str:
    return str(token.attrGet("href") or token.attrGet("src") or "")
