"""Finds personal data and secrets by their form: addresses, numbers with a check digit, keys with a known beginning.

Each pattern is linear in the text: one class of characters at a time, or a bounded number of them. Knows nothing of
policies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import phonenumbers

from inference.protocol.events import FindingKind
from inference.protocol.safety_policy import FOUND

PII, SECRET = FOUND
_REGIONS = ("US", "GB", "DE", "FR")
"""Countries whose national form of a phone number is known; a number with + may be of any country."""
_MAX_PHONES = 200
"""Most candidates of one text that are looked up; beyond it the form decides."""
_MAX_CARD_DIGITS, _MIN_CARD_DIGITS = 19, 13

_LOCAL = r"[A-Za-z0-9._%+'-]"
_LOCAL_END = re.compile(rf"{_LOCAL}{{1,64}}\Z")
_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_NUMBERS = re.compile(r"(?<![\w.])[+(]{0,2}\d(?:[ ().\-/]{0,2}\d){6,60}(?!\w)")
_GROUP = re.compile(r"\+?\(?\d+\)?")
_SSN = re.compile(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_DATE = re.compile(r"(?:19|20)\d\d[-/. ]\d\d?[-/. ]\d\d?|\d\d?[-/. ]\d\d?[-/. ](?:19|20)\d\d(?!\d)")
_PEM_HEAD = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_SECRETS: tuple[tuple[FindingKind, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        "private key",
        ("PRIVATE KEY",),
        re.compile(_PEM_HEAD + r"[A-Za-z0-9+/=\s:,\\]*(?:-{1,5}(?:E(?:N(?:D[A-Z0-9 ]{0,40}-{0,5})?)?)?)?"),
    ),
    ("web token", ("eyJ",), re.compile(r"(?<![\w-])eyJ[\w-]{16,}(?:\.[\w-]+){0,2}")),
    (
        "cloud key",
        ("AKIA", "ASIA", "AROA", "AIDA"),
        re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ),
    ("cloud key", ("AIza",), re.compile(r"(?<![\w-])AIza[\w-]{35,}")),
    (
        "access token",
        ("gh", "glpat-"),
        re.compile(r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,}|glpat-[\w-]{20,})"),
    ),
    ("access token", ("xox",), re.compile(r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("API key", ("sk-", "sk_", "rk_", "pk_"), re.compile(r"(?<![A-Za-z0-9])(?:sk-|[srp]k_)[\w-]{20,}")),
    ("API key", ("sg-",), re.compile(r"(?<![A-Za-z0-9])sg-[A-Za-z0-9]{40,}")),
)
"""Each with texts of which it holds one: looking for them first is much faster."""
_DIGIT = re.compile(r"\d")
_OPEN: tuple[re.Pattern[str], ...] = (
    re.compile(rf"{_LOCAL}{{1,64}}(?:@[A-Za-z0-9.-]{{0,300}})?\Z"),
    re.compile(r"(?:[+(]{1,2}|[+(]{0,2}\d{1,19}(?:[ ().\-/]{1,2}\d{1,19}){0,12}[ ().\-/]{0,2})\Z"),
    re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){0,8} ?\Z"),
    re.compile(r"-----BEGIN [A-Z0-9 ]{0,60}-{0,5}\Z"),
)
"""Ends of a text that the next characters may turn into a finding, or into a longer one."""
_OPEN_CHARS = 400
"""Longest of them."""


class Finding(NamedTuple):
    """A piece of personal data, or a secret."""

    start: int
    end: int
    kind: FindingKind
    category: str


@dataclass(frozen=True)
class _Group:
    start: int
    end: int
    digits: str


def find(text: str) -> list[Finding]:
    """Return the findings in order; none overlaps another."""
    found = sorted(_all(text), key=lambda each: (each.start, -each.end))
    kept: list[Finding] = []
    for each in found:
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
        elif each.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=each.end)
    return kept


def open_from(text: str, found: Sequence[Finding]) -> int:
    """Return the place from which the text's end may still become a finding, or part of one."""
    offset = max(0, len(text) - _OPEN_CHARS)
    tail = text[offset:]
    places = [offset + match.start() for pattern in _OPEN if (match := pattern.search(tail))]
    places += [each.start for each in found if each.end == len(text)]
    return min(places, default=len(text))


def _all(text: str) -> Iterator[Finding]:
    for kind, marks, pattern in _SECRETS:
        if any(mark in text for mark in marks):
            yield from (Finding(*match.span(), kind, SECRET) for match in pattern.finditer(text))
    yield from _e_mails(text)
    if not _DIGIT.search(text):
        return
    for match in _IBAN.finditer(text):
        if _is_iban(match.group()):
            yield Finding(*match.span(), "bank account", PII)
    yield from (Finding(*match.span(), "social security number", PII) for match in _SSN.finditer(text))
    yield from _numbers(text)


def _e_mails(text: str) -> Iterator[Finding]:
    at = text.find("@")
    while at >= 0:
        local = _LOCAL_END.search(text, max(0, at - 64), at)
        domain = _DOMAIN.match(text, at + 1)
        if local and domain:
            yield Finding(local.start(), domain.end(), "e-mail", PII)
        at = text.find("@", at + 1)


def _numbers(text: str) -> Iterator[Finding]:
    num_looked_up = 0
    for match in _NUMBERS.finditer(text):
        groups = [
            _Group(match.start() + g.start(), match.start() + g.end(), _digits(g.group()))
            for g in _GROUP.finditer(match.group())
        ]
        if card := _card(groups):
            yield Finding(*card, "card number", PII)
        elif _may_be_phone(match.group()):
            num_looked_up += 1
            if num_looked_up > _MAX_PHONES or _is_phone(match.group()):
                yield Finding(*match.span(), "phone number", PII)


def _card(groups: Sequence[_Group]) -> tuple[int, int] | None:
    """Return the span of the first card number that begins and ends with a group of digits."""
    for first in range(len(groups)):
        digits = ""
        for last in groups[first : first + _MAX_CARD_DIGITS]:
            digits += last.digits
            if len(digits) > _MAX_CARD_DIGITS:
                break
            if len(digits) >= _MIN_CARD_DIGITS and digits[0] in "23456" and _passes_luhn(digits):
                return groups[first].start, last.end
    return None


def _passes_luhn(digits: str) -> bool:
    """The check of card numbers: every second digit from the right is doubled, and its digits are added."""
    doubled = (sum(divmod(2 * int(each), 10)) for each in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1


def _is_iban(text: str) -> bool:
    """The check of bank accounts: the country goes to the end, letters become numbers, and 97 leaves 1."""
    packed = text.replace(" ", "")
    if not 15 <= len(packed) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in packed[4:] + packed[:4])) % 97 == 1


def _may_be_phone(text: str) -> bool:
    """A number without + is one only where it is written in groups, so that counts and identifiers are none."""
    if _DATE.match(text):
        return False
    num_groups = len(_GROUP.findall(text))
    return 7 <= len(_digits(text)) <= 15 and (text.startswith("+") or num_groups >= 3 or "(" in text)


def _is_phone(text: str) -> bool:
    for region in (None,) if text.startswith("+") else _REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(text, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())
