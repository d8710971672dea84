"""The text of an HTML page as a reader sees it, with its links."""

from urllib.parse import urljoin

from openjarvis.core.errors import ToolError

_UNSEEN = ("script", "style", "noscript", "template", "svg", "iframe", "head > :not(title)")
_BLOCKS = "p, div, li, tr, br, h1, h2, h3, h4, h5, h6, section, article, pre, blockquote, title"
_MOST_LINKS = 200


def page_text(html: str, url: str) -> str:
    """Return the page's text and, below it, its links as `text: address`.

    Raises:
        ToolError: when the package that reads HTML is not installed.
    """
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as error:
        raise ToolError(
            "as_text needs an HTML reader that is not installed: pip install 'openjarvis[web]'."
        ) from error
    page = LexborHTMLParser(html)
    for node in page.css(", ".join(_UNSEEN)):
        node.decompose()
    links: dict[str, str] = {}
    for node in page.css("a[href]"):
        address = urljoin(url, node.attributes.get("href") or "")
        if address.startswith(("http://", "https://")):
            links.setdefault(address, " ".join(node.text().split()))
    for node in page.css(_BLOCKS):
        node.insert_before("\n")
        node.insert_after("\n")
    text = page.root.text() if page.root is not None else ""
    return "\n".join([*_tidy(text), *_listed(links)])


def _tidy(text: str) -> list[str]:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if line]


def _listed(links: dict[str, str]) -> list[str]:
    if not links:
        return []
    shown = list(links.items())[:_MOST_LINKS]
    return ["", "Links:", *(f"- {text or '(no text)'}: {address}" for address, text in shown)]
