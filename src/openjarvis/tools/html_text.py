"""What an HTML page says, as text with its links; this file runs inside a sandbox, by itself.

A parser that builds a tree as browsers do can be made to take minutes and gigabytes by one hostile
megabyte. In there it may; `page_text` is the side that asks.
"""

from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

_UNSEEN = "script, style, noscript, template, svg, iframe, head > :not(title)"
_BLOCKS = "p, div, li, tr, br, h1, h2, h3, h4, h5, h6, section, article, pre, blockquote, title"
_MOST_LINKS = 200


def html_text(html: str, url: str) -> str:
    """Return the page's text line by line and, below it, its links as `text: address`."""
    page = LexborHTMLParser(html)
    for node in page.css(_UNSEEN):
        node.decompose()
    links = _links(page, url)
    for node in page.css(_BLOCKS):
        node.insert_before("\n")
        node.insert_after("\n")
    text = page.root.text() if page.root is not None else ""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join([*filter(None, lines), *links])


def _links(page: LexborHTMLParser, url: str) -> list[str]:
    found: dict[str, str] = {}
    for node in page.css("a[href]"):
        address = urljoin(url, node.attributes.get("href") or "")
        if address.startswith(("http://", "https://")):
            found.setdefault(address, " ".join(node.text().split()) or "(no text)")
        if len(found) == _MOST_LINKS:
            break
    return ["", "Links:", *(f"- {text}: {to}" for to, text in found.items())] if found else []
