"""Results cut to what a model can take, and made of characters that every wire takes."""


def clip(text: str, limit: int) -> str:
    """Return `text`, past `limit` characters only its head and tail with a note of what was cut."""
    if len(text) <= limit:
        return encodable(text)
    room = max(limit - 80, 0)
    head, tail = room - room // 4, room // 4
    cut = len(text) - head - tail
    note = f"\n[… {cut:,} of {len(text):,} characters cut …]\n"
    return encodable(text[:head] + note + (text[-tail:] if tail else ""))


def encodable(text: str) -> str:
    """Return `text` with unpaired surrogates replaced, which UTF-8 cannot carry."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
