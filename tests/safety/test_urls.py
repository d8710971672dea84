import pytest

from openjarvis.safety.urls import BlockedURL, check_url

NEVER_FETCHED = {
    # loopback, however it is written
    "http://127.0.0.1/": "not an address of the public",
    "http://127.0.0.1:8080/admin": "not an address of the public",
    "http://127.255.255.254/": "not an address of the public",
    "http://2130706433/": "unusual way",
    "http://0x7f000001/": "unusual way",
    "http://0x7f.0.0.1/": "unusual way",
    "http://0177.0.0.1/": "unusual way",
    "http://017700000001/": "unusual way",
    "http://127.1/": "unusual way",
    "http://127.0.1/": "unusual way",
    "http://0/": "unusual way",
    "http://0x/": "unusual way",
    "http://127.0.0.1./": "not an address of the public",
    "http://127.000.000.001/": "unusual way",
    "http://1.2.3.4.5/": "unusual way",
    "http://256.1.1.1/": "unusual way",
    "http://example.com.1/": "unusual way",
    "http://localhost/": "inside this machine",
    "http://LOCALHOST/": "inside this machine",
    "http://localhost./": "inside this machine",
    "http://db.localhost/": "inside this machine",
    "http://localhost.localdomain/": "inside this machine",
    "http://printer.local/": "inside this machine",
    "http://intranet/": "no dot",
    "http://0.0.0.0/": "not an address of the public",
    # private and special networks
    "http://10.0.0.1/": "not an address of the public",
    "http://172.16.0.1/": "not an address of the public",
    "http://172.31.255.255/": "not an address of the public",
    "http://192.168.1.1/": "not an address of the public",
    "http://100.64.0.1/": "not an address of the public",
    "http://169.254.1.1/": "not an address of the public",
    "http://198.18.0.1/": "not an address of the public",
    "http://192.0.2.1/": "not an address of the public",
    "http://198.51.100.7/": "not an address of the public",
    "http://203.0.113.9/": "not an address of the public",
    "http://192.88.99.1/": "not an address of the public",
    "http://224.0.0.1/": "not an address of the public",
    "http://255.255.255.255/": "not an address of the public",
    # metadata services
    "http://169.254.169.254/latest/meta-data/": "not an address of the public",
    "http://168.63.129.16/machine": "not an address of the public",
    "http://100.100.100.200/latest": "not an address of the public",
    "http://192.0.0.192/opc/v2/": "not an address of the public",
    "http://[fd00:ec2::254]/latest/meta-data/": "not an address of the public",
    "http://metadata.google.internal/computeMetadata/v1/": "inside this machine",
    "http://metadata/computeMetadata/v1/": "no dot",
    # IPv6 and what hides in it
    "http://[::1]/": "not an address of the public",
    "http://[::]/": "not an address of the public",
    "http://[0:0:0:0:0:0:0:1]:80/": "not an address of the public",
    "http://[::ffff:127.0.0.1]/": "not an address of the public",
    "http://[::ffff:7f00:1]/": "not an address of the public",
    "http://[::ffff:10.0.0.1]/": "not an address of the public",
    "http://[::127.0.0.1]/": "not an address of the public",
    "http://[64:ff9b::127.0.0.1]/": "not an address of the public",
    "http://[64:ff9b::a9fe:a9fe]/": "not an address of the public",
    "http://[64:ff9b:1::1]/": "not an address of the public",
    "http://[2002:7f00:1::]/": "not an address of the public",
    "http://[2002:a9fe:a9fe::1]/": "not an address of the public",
    "http://[2001::1]/": "not an address of the public",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/": "not an address of the public",
    "http://[2001:db8::1]/": "not an address of the public",
    "http://[3fff::1]/": "not an address of the public",
    "http://[2620::5efe:10.0.0.1]/": "not an address of the public",
    "http://[2620::200:5efe:7f00:1]/": "not an address of the public",
    "http://[fe80::1]/": "not an address of the public",
    "http://[fe80::1%25eth0]/": "zone",
    "http://[fe80::1%eth0]/": "zone",
    "http://[fc00::1]/": "not an address of the public",
    "http://[ff02::1]/": "not an address of the public",
    "http://[fec0::1]/": "not an address of the public",
    "http://[::1": "cannot be read",
    "http://[example.com]/": "",
    "http://[1.2.3.4]/": "",
    # tricks of spelling
    "http://example.com@127.0.0.1/": "user name",
    "http://user:pass@example.com/": "user name",
    "http://:@example.com/": "user name",
    "http://example.com\\@127.0.0.1/": "backslash",
    "http:\\\\example.com/": "backslash",
    "http://example.com /": "a space",
    " http://example.com/": "a space",
    "http://exam\tple.com/": "control character",
    "http://example.com/\r\nHost: x": "control character",
    "http://example.com/\x00": "control character",
    "http://example.com/\u2028": "control character",
    "http://１２７.０.０.１/": "only look like",
    "http://⑫⑦.⓪.⓪.①/": "only look like",
    "http://127。0。0。1/": "",
    "http://ｌocalhost/": "only look like",
    "http://%31%32%37.0.0.1/": "malformed",
    "http://127.0.0.1%2f@example.com/": "",
    "http://example..com/": "malformed",
    "http://.example.com/": "malformed",
    "http://-example.com/": "malformed",
    "http://" + "a" * 64 + ".com/": "malformed",
    "http:///path": "missing",
    "http://": "missing",
    "http://example.com:0/": "port",
    "http://example.com:99999/": "port",
    "http://example.com:8o80/": "port",
    "http://example.com/" + "a" * 9000: "longer than",
    # other schemes
    "file:///etc/passwd": "only http and https",
    "ftp://example.com/": "only http and https",
    "gopher://example.com/_x": "only http and https",
    "data:text/html,hello": "only http and https",
    "javascript:alert(1)": "only http and https",
    "dict://example.com:11211/": "only http and https",
    "//example.com/": "only http and https",
    "example.com": "only http and https URLs are fetched; write https://example.com/",
    "example.com:8080/a": "only http and https URLs are fetched; write https://example.com/",
    "httpx://example.com": "only http and https",
    "": "only http and https",
}


@pytest.mark.parametrize("url", NEVER_FETCHED)
def test_a_url_that_could_lead_inside_is_refused_with_the_reason(url: str) -> None:
    with pytest.raises(BlockedURL) as refusal:
        check_url(url)

    assert str(refusal.value).startswith("SSRF protection: ")
    assert NEVER_FETCHED[url] in str(refusal.value)


FETCHED = {
    "http://example.com": ("http", "example.com", 80),
    "https://example.com/": ("https", "example.com", 443),
    "HTTPS://EXAMPLE.COM:8443/A?b=c#d": ("https", "example.com", 8443),
    "https://example.com./": ("https", "example.com", 443),
    "https://sub-domain.example.co.uk/": ("https", "sub-domain.example.co.uk", 443),
    "http://8.8.8.8/": ("http", "8.8.8.8", 80),
    "http://172.32.0.1/": ("http", "172.32.0.1", 80),
    "http://172.15.255.255/": ("http", "172.15.255.255", 80),
    "http://[2606:4700:4700::1111]/": ("http", "2606:4700:4700::1111", 80),
    "http://[2606:4700:4700:0:0:0:0:1111]:81/": ("http", "2606:4700:4700::1111", 81),
    "http://[64:ff9b::808:808]/": ("http", "64:ff9b::808:808", 80),
    "http://[::ffff:8.8.8.8]/": ("http", "::ffff:808:808", 80),
    "https://bücher.example/": ("https", "xn--bcher-kva.example", 443),
    "https://例え.テスト/": ("https", "xn--r8jz45g.xn--zckzah", 443),
    "https://example.com/p%20q?u=http://127.0.0.1/": ("https", "example.com", 443),
    "https://localhost.example.com/": ("https", "localhost.example.com", 443),
    "https://127.0.0.1.example.com/": ("https", "127.0.0.1.example.com", 443),
    "https://_dmarc.example.com/": ("https", "_dmarc.example.com", 443),
}


@pytest.mark.parametrize("url", FETCHED)
def test_a_url_of_the_public_internet_names_its_place(url: str) -> None:
    origin = check_url(url)

    assert (origin.scheme, origin.host, origin.port) == FETCHED[url]


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "127.0.0.1"),
        ("http://localhost:11434/", "localhost:11434"),
        ("http://[::1]:9000/", "[::1]:9000"),
        ("http://[::1]:9000/", "::1"),
    ],
)
def test_a_user_may_open_a_place_of_their_own(url: str, allowed: str) -> None:
    assert check_url(url, allowed=[allowed]).port in (8080, 11434, 9000)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:8081/", "127.0.0.1:8080"),
        ("http://127.0.0.2:8080/", "127.0.0.1:8080"),
        ("http://x@127.0.0.1:8080/", "127.0.0.1:8080"),
        ("ftp://127.0.0.1:8080/", "127.0.0.1:8080"),
    ],
)
def test_opening_one_place_opens_no_other(url: str, allowed: str) -> None:
    with pytest.raises(BlockedURL):
        check_url(url, allowed=[allowed])
