"""What the segmenter knows of the world's scripts, as insides of regex character classes."""

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf"  # Thai, Lao: not ฿, digits, full stops
    "\u1000-\u103f\u1050-\u109f\uaa60-\uaa7f\ua9e0-\ua9fe"  # Myanmar
    "\u1780-\u17d3\u17dc\u17dd\u1950-\u19df\u1a20-\u1a7f"  # Khmer, Tai
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48f\uf900-\ufaff\U00020000-\U0003ffff"  # Han, Yi
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul: spaced, but particles cling to words
)
"""Letters and marks of scripts that put no space between words."""

MARKS_OF_UNSPACED = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"  # Thai, Lao
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074"  # Myanmar
    "\u1082-\u108d\u108f\u109a-\u109d\ua9e5\uaa7b-\uaa7d"
    "\u17b4-\u17d3\u17dd\u19b0-\u19c0\u19c8\u19c9\u1a55-\u1a7f"  # Khmer, Tai
    "\u302a-\u302f\u3099\u309a\u1160-\u11ff"  # kana, jamo that follow a first one
)
"""Those of `UNSPACED` that are written on the letter before them."""

MARKS_OF_WORDS = (
    "\u07a6-\u07b0\u07eb-\u07f3\u0816-\u082d\u0859-\u085b"  # Thaana, NKo, Samaritan, Mandaic
    "\u0900-\u0963\u0966-\u096f\u0971-\u0df3"  # India, Sri Lanka: all but the full stops
    "\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e\u0f3f\u0f71-\u0f84\u0f86-\u0fbc"  # Tibetan
    "\u1712-\u1715\u1732-\u1734\u1752\u1753\u1772\u1773\u18a9\u1920-\u193b"
    "\u1b00-\u1b4b\u1b80-\u1bf3\u1c24-\u1c37\ua802-\ua827\ua880-\ua8c5\ua8e0-\ua8f1"
    "\ua926-\ua953\ua980-\ua9c0\uaa29-\uaa4d\uaaeb-\uaaf6\uabe3-\uabed"
    "\U00011000-\U00011046\U00011080-\U000110ba\U00011100-\U00011134"
)
"""Vowel signs and the like that `\\w` does not count to a word, though their readers do."""

ACCENTS = (
    "\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff"  # Latin, Greek, Cyrillic
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u0711\u0730-\u074a\u08ca-\u08e1\u08e3-\u08ff"  # Arabic and Syriac vowels
)
"""Marks without which a word is still the same word to a search."""

INVISIBLE = (
    "\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
"""Signs that show nothing: soft hyphen, zero-width spaces and joiners, directions, variations."""

_LETTERS = {
    "ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th",
    "ð": "d", "Ø": "O", "Ł": "L", "Đ": "D", "Ħ": "H", "Ŧ": "T", "Æ": "AE", "Œ": "OE", "Þ": "TH",
    "Ð": "D", "’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-", "⁄": "/",
}  # fmt: skip
_ZEROS = "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀႐០᠐"

LETTERS = str.maketrans(
    _LETTERS | {chr(ord(zero) + digit): str(digit) for zero in _ZEROS for digit in range(10)}
)
"""For `str.translate`: letters that Unicode does not decompose, and digits, in plain ones."""
