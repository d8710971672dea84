"""Text as the `offline` engine reads it: folded, cut into words, weighed by script.

Folding keeps the length, so that a place in the folded text is the same place in the request.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

MAX_CHARACTERS = 2_000
"""How much of a request is read; a text argument may still take what comes after."""

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words, as the inside of a character class."""

_THAI_GRAM = 4
_HAN_GRAM = 2
_WORD = re.compile(
    rf"(?P<run>[{UNSPACED}]+)|(?P<word>(?:(?![{UNSPACED}])[^\W\d_])+)|(?P<number>\d+(?:[.,]\d+)*)"
)


class Word(NamedTuple):
    """A word, a number, or a run of an unspaced script, at its place in the text."""

    kind: str
    text: str
    start: int
    end: int


class _Folding(dict[int, str]):
    """Maps a character to the one it reads like: lower case, no accent, an ASCII digit."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = _folded_character(character)
        self[code] = folded
        return folded


def _folded_character(character: str) -> str:
    digit = unicodedata.digit(character, None)
    if digit is not None and character.isdecimal():
        return str(digit)
    if re.match(rf"[{UNSPACED}]", character):
        return character  # marks are letters there, not ornaments
    for form in ("NFKC", "NFKD"):
        narrowed = unicodedata.normalize(form, character)
        base = narrowed[0] if form == "NFKD" else narrowed
        if len(base) == 1 and len(base.lower()) == 1:
            character = base.lower()
    return {"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-"}.get(character, character)


_FOLDING = _Folding()


def composed(text: str) -> str:
    """Return `text` with each accented letter as one character."""
    return unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Return `text` in lower case, without accents, with ASCII digits; the length stays."""
    return text.translate(_FOLDING)


def words(folded: str) -> list[Word]:
    """Return the words, numbers and unspaced runs of a folded text, in order."""
    return [
        Word(str(match.lastgroup), match[0], match.start(), match.end())
        for match in _WORD.finditer(folded)
    ]


_SUFFIXES = (
    ("ies", "y", 5),
    ("ations", "at", 8),
    ("ation", "at", 7),
    ("ions", "", 7),
    ("ion", "", 6),
    ("ings", "", 7),
    ("ing", "", 6),
    ("ors", "", 7),
    ("or", "", 7),
    ("ed", "", 5),
    ("es", "", 5),
    ("s", "", 4),
)


_IRREGULAR = {"news": "news", "dice": "die", "people": "person", "children": "child"}


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return what the forms of an English word share: `rain` for `raining` and `rains`."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for suffix, instead, least in _SUFFIXES:
        if len(word) >= least and word.endswith(suffix) and not word.endswith("ss"):
            word = word[: -len(suffix)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def grams(run: str) -> set[str]:
    """Return the character n-grams that stand for the words of an unspaced run.

    Four characters of an alphabet (Thai and its neighbours), two of Han, kana or Hangul; a shorter
    part of at least two characters stands for itself. Small words are left out.
    """
    found: set[str] = set()
    for part in _SMALL_WORD.split(run):
        size = gram_size(run)
        if len(part) > size:
            found.update(part[start : start + size] for start in range(len(part) - size + 1))
        elif len(part) >= _HAN_GRAM:
            found.add(part)
    return found


def gram_size(run: str) -> int:
    """Return how many characters an n-gram of this script has."""
    return _HAN_GRAM if run[0] >= "\u3000" else _THAI_GRAM


# The closed classes of English: they hold a sentence together and say nothing of its subject.
FUNCTION_WORDS = frozenset(
    """a an the this that these those some any all each every no not it its i me my mine we us our
    you your he him his she her they them their there here who whom whose which what when where why
    how is am are was were be been being do does did doing done have has had having will would shall
    should can could may might must ought and or but nor so if then than as because while until
    though of in on at by for from to into onto out off over under with without within about
    against between through during before after above below up down again once just only very too
    also more most much many few less least such same other another own now right still yet ever never
    always please thanks thank kindly hey hi hello ok okay yes s t re ve ll d m don doesn didn isn
    one something somebody someone anything anybody everything nothing
    aren wasn weren won wouldn couldn shouldn let lets""".split()
)

# Verbs of nearly every request, and of nearly every description.
LIGHT_WORDS = frozenset(
    """tell show give get find make want need help know like see say says said use using used user
    users call calls called ask asks asked return returns returned tool tools name named result
    results value values given try look saying e g""".split()
)

# Words that link what comes before to the text that a command is about.
CONNECTORS = frozenset(
    "about for that on of to saying says say whether regarding over into with in at".split()
)

PREPOSITIONS = frozenset(
    "about for of in on at to from with by the a an into near called named is".split()
)

PROHIBITIONS = re.compile(
    r"\s*(?:please\s+)?(?:do\s*n[o']t\b|don't\b|never\b|不要|别|請勿|请勿|อย่า|ห้าม|no\s+hagas\b)"
)

# Unspaced scripts: what may open a request, link its parts, or close it. They are cut only off the
# ends of an unknown stretch, because a name may hold the same characters.
OPENERS = tuple(
    "กรุณา ช่วย ขอ อยาก โปรด 请帮我 请你 请 帮我 帮忙 给我 我想 我要 能不能 可以 麻烦 お願い".split()
)
LINKERS = tuple(
    "เกี่ยวกับ ที่ ใน ของ จาก ถึง ว่า ให้ เป็น คือ กับ และ ทำ การ ไป ดู ไว้ เรื่อง "
    "关于 有关 在 的 到 把 从 是 对 给 用 说 一下 一个 の は が を に で と".split()
)
CLOSERS = tuple(
    "หรือเปล่า เท่าไหร่ เท่าไร อย่างไร ยังไง อะไร ที่ไหน ไหน ไหม มั้ย ครับ ค่ะ คะ นะ หน่อย ด้วย "
    "แล้ว อยู่ บ้าง ที เท่ากับ ได้ คิดเป็น "
    "怎么样 怎样 如何 多少 什么 哪里 哪儿 吗 嗎 呢 吧 了 啊 一下 等于 是什么 谢谢 会 将 ですか ますか か".split()
)

_SMALL_WORD = re.compile(
    "|".join(
        word
        for word in sorted({*OPENERS, *CLOSERS}, key=len, reverse=True)
        if len(word) >= (2 if word[0] >= "\u3000" else 3)
    )
)


def is_content(word: Word) -> bool:
    """Tell whether a word says something of the subject."""
    return word.kind == "run" or (
        word.text not in FUNCTION_WORDS and word.text not in LIGHT_WORDS and len(word.text) > 1
    )


def peel(text: str, start: int, end: int, *, opens: bool) -> tuple[int, int]:
    """Return the stretch of unspaced text without the small words at its ends.

    `opens` tells that the stretch opens its run, where words of politeness may stand.
    """
    heads = (*OPENERS, *LINKERS) if opens else LINKERS
    tails = (*CLOSERS, *LINKERS)
    while head := next((word for word in heads if text.startswith(word, start, end)), ""):
        start += len(head)
    while tail := next((word for word in tails if text.endswith(word, start, end)), ""):
        end -= len(tail)
    return start, max(start, end)
