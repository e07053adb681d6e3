"""A command line, quoted for a shell, with the reason of each of its flags."""

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import NamedTuple

from calc.catalog.launchers import Launcher
from calc.derivation import Warn


class Said(NamedTuple):
    """A flag as it is given, and why."""

    flag: str
    value: str | None  # None: a flag without a value
    because: str
    source: str
    several: bool = False  # each word of the value is one of its own

    @property
    def words(self) -> list[str]:
        """The flag's words on a command line."""
        if self.value is None:
            return [self.flag]
        return [self.flag, *(self.value.split() if self.several else [self.value])]


def command_text(words: Iterable[str], said: Iterable[Said]) -> str:
    r"""Return a command, each flag on a line of its own.

    >>> print(command_text(["serve", "a b"], [Said("--size", "2", "", "")]))
    serve 'a b' \
      --size 2
    """
    lines = [" ".join(shell_word(word) for word in words)]
    lines += [" ".join(shell_word(word) for word in one.words) for one in said]
    return " \\\n  ".join(lines)


def shell_word(word: str) -> str:
    """Return a word quoted for a shell; a name that the cluster sets stays one.

    >>> shell_word("$HEAD:5000"), shell_word("a;b")
    ('"$HEAD:5000"', "'a;b'")
    """
    name, _, rest = word.removeprefix("$").partition(":")
    plain = name.replace("_", "").isalnum() and (not rest or rest.isdigit())
    return f'"{word}"' if word.startswith("$") and name.isupper() and plain else quote(word)


def flags_of(launcher: Launcher, asked: Mapping[str, object], version: str) -> tuple[list[Said], list[Warn]]:
    """Return the flags that say what was asked, in the launcher's order, and what none of them says."""
    said: list[Said] = []
    left = dict.fromkeys(name for name in asked if name not in launcher.otherwise)
    for flag in launcher.flags:
        if flag.of not in asked or not flag.is_in(version):
            continue
        value = str(asked[flag.of])
        if flag.values is not None and value not in flag.values:
            continue
        value = value if flag.values is None else flag.values[value]
        said.append(
            Said(flag.flag, None if flag.switch else value, flag.because, launcher.source, several=flag.several)
        )
        left.pop(flag.of, None)
    return said, [unsaid(launcher, name) for name in left]


def unsaid(launcher: Launcher, name: str) -> Warn:
    """Return that a choice has no flag."""
    message = f"{launcher.id} is told of {name.replace('_', ' ')} by no flag that the catalogue knows: set it by hand"
    return Warn("no-flag", message, name)
