r"""Formulas for the page: the LaTeX that steps are written in becomes MathML, which browsers draw without a script.

The subset: letters, numbers, `+ - = / , ( ) [ ]`, `_` and `^` with `{}`, `\frac`, `\text`, `\sum`, `\left`, `\right`,
`\cdot`, `\times`, `\lceil`, `\rceil`, `\lfloor`, `\rfloor`, `\min`, `\max`, `\approx`, `\le`, `\ge`, `\sqrt`,
`\alpha`, `\beta`, `\rho`.
"""

import re
from functools import lru_cache

from calc.calculators.html import text

TOKEN = re.compile(r"\s*(\\[A-Za-z]+|\\.|\d[\d,.]*\d|\d|[A-Za-z]|[{}_^]|.)", re.DOTALL)
OPERATORS = {
    "cdot": "·",
    "times": "×",
    "lceil": "⌈",
    "rceil": "⌉",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "approx": "≈",
    "le": "≤",
    "ge": "≥",
    "sum": "∑",
    "quad": "\u2003",
}
LETTERS = {"alpha": "α", "beta": "β", "rho": "ρ"}
FUNCTIONS = ("min", "max", "log")


@lru_cache(maxsize=256)  # the same few formulas stand in every answer
def mathml(latex: str, *, display: bool = False) -> str:
    r"""Return a formula as a MathML element. Raises ValueError for LaTeX outside the subset.

    >>> mathml(r"\frac{b}{8}")
    '<math><mfrac><mi>b</mi><mn>8</mn></mfrac></math>'
    """
    parser = Parser(latex)
    body = parser.row(until="")
    kind = ' display="block"' if display else ""
    return f"<math{kind}>{body}</math>"


class Parser:
    """Reads one formula from left to right."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.position = 0

    def error(self, message: str) -> ValueError:
        """Return the error that names the formula."""
        return ValueError(f"formula {self.latex!r}: {message}")

    def next(self) -> str:
        """Return the next token and step over it; empty at the end."""
        match = TOKEN.match(self.latex, self.position)
        if match is None or not match.group(1).strip():
            self.position = len(self.latex)
            return ""
        self.position = match.end()
        return match.group(1)

    def peek(self) -> str:
        """Return the next token without stepping over it."""
        position = self.position
        token = self.next()
        self.position = position
        return token

    def row(self, until: str) -> str:
        """Return everything up to the token `until`, which is stepped over."""
        items = []
        while (token := self.next()) != until:
            if not token:
                raise self.error(f"{until} is missing")
            items.append(self.scripts(self.item(token), big=token == r"\sum"))
        return items[0] if len(items) == 1 else f"<mrow>{''.join(items)}</mrow>"

    def group(self) -> str:
        """Return the next `{...}` or the next single item."""
        token = self.next()
        return self.row(until="}") if token == "{" else self.item(token)

    def scripts(self, base: str, *, big: bool) -> str:
        """Return an item with the subscript and superscript that follow it."""
        below = above = ""
        while (token := self.peek()) in ("_", "^") and token:
            self.next()
            if token == "_":
                below = self.group()
            else:
                above = self.group()
        if below and above:
            return (
                f"<munderover>{base}{below}{above}</munderover>" if big else f"<msubsup>{base}{below}{above}</msubsup>"
            )
        if below:
            return f"<munder>{base}{below}</munder>" if big else f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def item(self, token: str) -> str:
        """Return the MathML of one item."""
        if not token:
            raise self.error("it ends too early")
        if token == "{":
            return self.row(until="}")
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token in "()[]|":  # brackets grow with what they hold only after \\left and \\right
            return f'<mo stretchy="false">{token}</mo>'
        if token in "+-=/,<>;:%":
            return f"<mo>{text(token.replace('-', '−'))}</mo>"
        raise self.error(f"{token!r} is not in the subset")

    def command(self, name: str) -> str:
        """Return the MathML of a command."""
        if name == "frac":
            return f"<mfrac>{self.group()}{self.group()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.group()}</msqrt>"
        if name == "text":
            match = re.compile(r"\{([^{}]*)\}").match(self.latex, self.position)
            if match is None:
                raise self.error(r"\text needs {words}")
            self.position = match.end()
            return f"<mtext>{text(match.group(1))}</mtext>"
        if name in ("left", "right"):
            return f"<mo>{text(self.next())}</mo>"
        if name in FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in OPERATORS:
            return f"<mo>{OPERATORS[name]}</mo>"
        raise self.error(f"\\{name} is not in the subset")
