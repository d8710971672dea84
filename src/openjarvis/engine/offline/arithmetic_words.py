"""The tokens of arithmetic: symbols, and the words for them in several languages."""

import re
from typing import NamedTuple

from openjarvis.engine.offline.numbers import DIGITS, SPELLED_ENGLISH, SPELLED_HAN, SPELLED_THAI

MAX_TOKENS = 400


class Token(NamedTuple):
    """A piece of the folded text; `kind` is `number`, `other`, or a key of the lexicon."""

    kind: str
    text: str
    start: int
    end: int


# Of two that could match at one place the first wins, so the longer words come first.
_SYMBOLS = {
    "**": r"\*\*|\^",
    "//": r"//",
    "+": r"\+",
    "-": r"-",
    "*": r"\*|×|·",
    "/": r"/|÷",
    "%": r"%",
    "(": r"\(",
    ")": r"\)",
    "and": r",",
    "sqrt": r"√",
    "pi": r"π",
}
_WORDS = {
    "**": r"to the power of|raised to|hoch|elevado a",
    "+": r"plus|added to|mas",
    "-": r"minus|menos|moins",
    "*": r"times|multiplied by|multiplie par|mal|fois|x(?=\s*[\d(])",
    "/": r"divided by|geteilt durch|dividido (?:por|entre)|divise par",
    "%": r"percent|per cent|prozent|por ciento|pour cent",
    "mod": r"modulo|mod",
    "sqrt": r"(?:the )?square root of|sqrt of|sqrt|raiz cuadrada de",
    "squared": r"squared",
    "cubed": r"cubed",
    "call": r"(?:abs|round|min|max|log10|log2|log|sin|cos|tan|ceil|floor)(?=\s*\()",
    "pi": r"pi",
    "half": r"half(?: of)?",
    "double": r"twice|double",
    "sum": r"(?:the )?sum of",
    "product": r"(?:the )?product of",
    "difference": r"(?:the )?difference (?:between|of)",
    "average": r"(?:the )?(?:average|mean) of",
    "max": r"(?:the )?(?:maximum|largest|greatest|biggest|max) of",
    "min": r"(?:the )?(?:minimum|smallest|least|min) of",
    "add": r"add",
    "multiply": r"multiply",
    "divide": r"divide",
    "subtract": r"subtract",
    "by": r"by|with",
    "from": r"from",
    "to": r"to",
    "of": r"of|de|von",
    "on": r"on",
    "and": r"and|y|und|et",
}
_UNSPACED_WORDS = {
    "**": r"เลขยกกำลัง|ยกกำลัง",
    "+": r"加上|加|บวก|足す|더하기",
    "-": r"减去|減去|减|減|ลบ|引く|빼기",
    "*": r"乘以|乘|คูณด้วย|คูณ|掛ける|かける|곱하기",
    "/": r"除以|หารด้วย|หาร|割る|나누기",
    "%": r"เปอร์เซ็นต์|パーセント",
    "per hundred": r"百分之",
    "power mark": r"次方",
    "rooted": r"的平方根|の平方根",
    "sqrt": r"รากที่สองของ|根号",
    "squared": r"的平方|の二乗",
    "cubed": r"的立方",
    "half": r"ครึ่งหนึ่งของ",
    "double": r"สองเท่าของ",
    "sum": r"ผลรวมของ|ผลบวกของ",
    "product": r"ผลคูณของ",
    "average": r"ค่าเฉลี่ยของ",
    "of": r"ของ|的|の",
    "and": r"กับ|และ|和",
}

COMPUTING = frozenset(_WORDS | _UNSPACED_WORDS | _SYMBOLS) - {
    *("of", "on", "and", "by", "from", "to", "(", ")", "pi")
}
"""The kinds that make a number out of others."""

_LEXICON = [
    *_SYMBOLS.items(),
    *((kind, rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])") for kind, words in _WORDS.items()),
    *_UNSPACED_WORDS.items(),
]
_FIGURES = rf"{DIGITS}|{SPELLED_ENGLISH}|{SPELLED_THAI}|(?!百分之){SPELLED_HAN}"
_TOKEN = re.compile(
    rf"(?P<number>{_FIGURES})|"
    + "|".join(f"(?P<k{index}>{pattern})" for index, (_, pattern) in enumerate(_LEXICON))
    + r"|(?P<skip>[\s$€£¥฿=?]+)|(?P<other>[a-z]+|.)",
    re.DOTALL,
)


def tokens(folded: str) -> list[Token]:
    """Return the first `MAX_TOKENS` tokens of a folded text, white space left out."""
    found: list[Token] = []
    for match in _TOKEN.finditer(folded):
        group = str(match.lastgroup)
        if group == "skip":
            continue
        kind = _LEXICON[int(group[1:])][0] if group[0] == "k" else group
        found.append(Token(kind, match[0], match.start(), match.end()))
        if len(found) == MAX_TOKENS:
            break
    return found
