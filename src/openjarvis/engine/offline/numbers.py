"""Numbers as people write them: digits with separators, English, Chinese and Thai words."""

import re


def _numbered(words: str, start: int = 0, step: int = 1) -> dict[str, int]:
    return {word: step * value for value, word in enumerate(words.split(), start=start)}


_UNITS = _numbered(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", start=2, step=10)
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_ENGLISH = "|".join([*_TENS, *sorted(_UNITS, key=len, reverse=True), *_SCALES])
_HAN = _numbered("零 一 二 三 四 五 六 七 八 九") | {"两": 2, "〇": 0}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "萬": 10_000, "亿": 100_000_000}
_THAI = _numbered("ศูนย์ หนึ่ง สอง สาม สี่ ห้า หก เจ็ด แปด เก้า") | {"เอ็ด": 1, "ยี่": 2}
_THAI_SCALES = {"สิบ": 10, "ร้อย": 100, "พัน": 1_000, "หมื่น": 10_000, "แสน": 100_000, "ล้าน": 1_000_000}

DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|\d+(?:\.\d+)?|(?<![\w.])\.\d+"
SPELLED_ENGLISH = rf"\b(?:{_ENGLISH})(?:(?:[ -]| and )(?:{_ENGLISH}))*\b"
SPELLED_HAN = f"[{''.join(_HAN)}{''.join(_HAN_SCALES)}]+"
SPELLED_THAI = f"(?:{'|'.join([*_THAI, *_THAI_SCALES])})+"
NUMBER = re.compile(f"{DIGITS}|{SPELLED_ENGLISH}|{SPELLED_HAN}|{SPELLED_THAI}")
"""A number in a folded text. A Han or Thai match may be a part of another word."""

_THAI_WORD = re.compile("|".join([*_THAI, *_THAI_SCALES]))
_FIGURES = "0123456789."
_MAX_DIGITS = 30


def number_of(text: str) -> int | float | None:
    """Return the value of a match of `NUMBER`, or None when its words make no number."""
    if text[0] in _FIGURES:
        literal = literal_of(text)
        if literal is None:
            return None
        return float(literal) if "." in literal else int(literal)
    if text[0].isascii():
        return _english(re.findall(r"[a-z]+", text))
    if text[0] in _HAN or text[0] in _HAN_SCALES:
        return _scaled([(_HAN.get(c), _HAN_SCALES.get(c)) for c in text])
    parts = _THAI_WORD.findall(text)
    return _scaled([(_THAI.get(part), _THAI_SCALES.get(part)) for part in parts])


def literal_of(text: str) -> str | None:
    """Return the number of a match of `NUMBER` as Python writes it, with every digit it had."""
    if text[0] not in _FIGURES:
        value = number_of(text)
        return None if value is None else str(value)
    digits = text.replace(",", "")
    whole, point, fraction = digits.partition(".")
    return f"{whole.lstrip('0') or '0'}{point}{fraction}" if len(digits) <= _MAX_DIGITS else None


def _english(spoken: list[str]) -> int | None:
    total = group = 0
    previous = ""
    for word in spoken:
        if word in _SCALES:
            if word == "hundred":
                group = (group or 1) * 100
            else:
                total, group = total + (group or 1) * _SCALES[word], 0
        elif word in _TENS or word in _UNITS:
            follows_ten = previous in _TENS and 0 < _UNITS.get(word, 0) < 10
            if previous and previous not in _SCALES and not follows_ten:
                return None  # "seven eight" is two numbers
            group += _TENS.get(word, 0) + _UNITS.get(word, 0)
        if word != "and":
            previous = word
    return total + group


def _scaled(parts: list[tuple[int | None, int | None]]) -> int | None:
    """Return the value of digits and scales in the order of writing: 三百四十 is 3·100 + 4·10."""
    total = group = digit = 0
    if len(parts) > _MAX_DIGITS or (len(parts) > 1 and all(scale is None for _, scale in parts)):
        return None
    for value, scale in parts:
        if scale is None:
            digit = value or 0
        elif scale >= 10_000:
            total, group, digit = total + (group + digit or 1) * scale, 0, 0
        else:
            group, digit = group + (digit or 1) * scale, 0
    return total + group + digit
