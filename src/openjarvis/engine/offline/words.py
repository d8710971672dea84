"""The small words of English, Thai and Chinese: they hold a sentence together and name nothing."""

import re

from openjarvis.engine.offline.script import HAN_GRAM, Word, gram_size


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _tuple(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# The closed classes of English: they hold a sentence together and say nothing of its subject.
FUNCTION_WORDS = _set(
    """a an the this that these those some any all each every no not it its i me my mine we us our
    you your he him his she her they them their there here who whom whose which what when where why
    how is am are was were be been being do does did doing done have has had having will would shall
    should can could may might must ought and or but nor so if then than as because while until
    though of in on at by for from to into onto out off over under with without within about
    against between through during before after above below up down again once just only very too
    also more most much many few less least such same other another own now right still yet ever
    never always please thanks thank kindly hey hi hello ok okay yes s t re ve ll d m don doesn didn
    isn lot lots bit kind sort thing things one
    something somebody someone anything anybody everything nothing
    aren wasn weren won wouldn couldn shouldn let lets"""
)

# Verbs of nearly every request, and of nearly every description.
LIGHT_WORDS = _set(
    """tell show give get find make want need help know like see say says said use using used user
    users call calls called ask asks asked return returns returned tool tools name named result
    results value values given try look saying e g"""
)

# Words that link what comes before to the text that a command is about.
CONNECTORS = _set("about for that on of to saying says say whether regarding over into with in at")

PREPOSITIONS = _set("about for of in on at to from with by the a an into near called named is")

PROHIBITIONS = re.compile(
    r"\s*(?:please\s+)?(?:do\s*n[o']t\b|don't\b|never\b|不要|别|請勿|请勿|อย่า|ห้าม)"
)

# Unspaced scripts: what may open a request, link its parts, or close it. They are cut only off the
# ends of an unknown stretch, because a name may hold the same characters.
OPENERS = _tuple(
    "กรุณา ช่วย ขอ อยาก โปรด 请帮我 请你 请 帮我 帮忙 给我 我想 我要 能不能 可以 麻烦 お願い"
)
LINKERS = _tuple(
    "เกี่ยวกับ ที่ ใน ของ จาก ถึง ว่า ให้ เป็น คือ กับ และ ทำ การ ไป ดู ไว้ เรื่อง "
    "关于 有关 在 的 到 把 从 是 对 给 用 说 一下 一个 の は が を に で と"
)
CLOSERS = _tuple(
    "หรือเปล่า เท่าไหร่ เท่าไร อย่างไร ยังไง อะไร ที่ไหน ไหน ไหม มั้ย ครับ ค่ะ คะ นะ หน่อย ด้วย "
    "แล้ว อยู่ บ้าง ที เท่ากับ ได้ คิดเป็น "
    "怎么样 怎样 如何 多少 什么 哪里 哪儿 吗 嗎 呢 吧 了 啊 一下 等于 是什么 谢谢 会 将 "
    "ですか ますか か"
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
        elif len(part) >= HAN_GRAM:
            found.add(part)
    return found


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
