"""Where a redirect may lead; what servers do with it stands in tests/security."""

from typing import Any

import httpx
import httpx2
import pytest

from openjarvis.core.errors import LLMError
from openjarvis.engine.bounds import client_options
from openjarvis.engine.endpoint import Endpoint


@pytest.mark.parametrize("library", [httpx, httpx2])
@pytest.mark.parametrize(
    ("method", "here", "status", "target", "is_followed"),
    [
        ("POST", "http://a.example/v1/x", 308, "/v1/x/", True),
        ("POST", "http://a.example/v1", 307, "http://a.example:80/w", True),
        ("POST", "http://a.example/v1", 308, "https://a.example/v1", True),
        ("POST", "https://a.example:8443/v1", 307, "HTTPS://A.example:8443/w", True),
        ("GET", "http://a.example/v1", 302, "/w", True),
        ("POST", "http://a.example/v1", 302, "/w", False),
        ("POST", "http://a.example/v1", 303, "https://a.example/v1", False),
        ("POST", "https://a.example/v1", 307, "http://a.example/v1", False),
        ("GET", "https://a.example/v1", 307, "//b.example/v1", False),
        ("GET", "http://a.example/v1", 301, "http://a.example:8080/v1", False),
        ("GET", "http://a.example:8080/v1", 301, "https://a.example/v1", False),
        ("GET", "http://a.example/v1", 301, "https://a.example:8443/v1", False),
        ("GET", "http://a.example/v1", 301, "http://a.example.b.example/", False),
        ("GET", "http://a.example/v1", 301, "http://a.example@b.example/", False),
        ("GET", "http://a.example/v1", 301, "http://[", False),
    ],
)  # fmt: skip
def test_a_redirect_stays_in_its_place(
    library: Any, method: str, here: str, status: int, target: str, is_followed: bool
) -> None:
    request = library.Request(method, here)
    response = library.Response(
        status,
        headers={"Location": target},
        request=request,
        stream=library.ByteStream(b""),
    )
    [check] = client_options(Endpoint(here))["event_hooks"]["response"]

    if is_followed:
        check(response)
    else:
        with pytest.raises(LLMError, match="redirects to"):
            check(response)
