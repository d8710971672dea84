import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.safety.secrets import MASK, looks_secret, mask_secrets

S = "s3cr3tV4lu3xyz"

PLANTED = [
    # credentials in URLs
    f"could not connect to postgres://user:{S}@db.local:5432/app",
    f"redis://:{S}@cache:6379/0",
    f"mongodb+srv://u:{S}@a.test,b.test/db?w=1",
    f"amqp://u:pa@{S}@host/",
    f"https://user:p/{S}@host/x",
    f"https://{S}ABCDEFGHIJKLMNOP@github.com/a/b.git",
    f"see https://a.test/?next=https://u:{S}@b.test/ for more",
    f"('https://u:{S}@a.test', 'https://b.test')",
    # pairs
    f"password={S}",
    f"PASSWORD = '{S}'",
    f'{{"password": "{S}"}}',
    f"{{'api_key': '{S}', 'n': 1}}",
    f"api-key: {S}",
    f"apikey={S}",
    f"API key: {S}",
    f"X-API-Key: {S}",
    f"DB_PASSWORD={S}",
    f"PGPASSWORD={S} psql -h db",
    f"MYSQL_PWD={S}",
    f"smtp_pass={S}",
    f"AWS_SECRET_ACCESS_KEY={S}",
    f"https://a.test/x?access_token={S}&x=1",
    f"https://a.test/x?se=1&sig={S}&sp=r",
    f"client_secret={S}",
    f"clientSecret: {S}",
    f"refresh_token: {S}",
    f"accessToken='{S}'",
    f"passphrase: {S}",
    f"private_key = {S}",
    f"AccountKey={S}==;EndpointSuffix=x",
    f"password => '{S}'",
    f"password := {S}",
    f"password：{S}",
    f"connect(user='joe', password='{S}')",
    f"password='two words {S}' host=db",
    f'"password": "esc\\"{S}"',
    f"password='never closed {S}",
    f"密码: {S}",
    f"รหัสผ่าน: {S}",
    f"token={S}",
    f"--password {S} --host db",
    f"--api-key {S}",
    f"--token={S}",
    # headers
    f"Authorization: Bearer {S}",
    f"{{'Authorization': 'Bearer {S}'}}",
    f"authorization: token {S}",
    f"Authorization: {S}",
    f"curl -H 'authorization: basic {S}=='",
    f"Cookie: a=1; session={S}",
    f"Set-Cookie: sid={S}; HttpOnly",
]
FORMATS = [
    "sk-proj-abcdefghijklmnop_QRST",
    "sk-ant-api03-abcdefghijklmnopqrstu",
    "sk-aaaaaaaaaaaaaaaaaaaaaaaa",
    "ghp_" + "a1" * 18,
    "ghs_" + "a1" * 18,
    "github_pat_" + "a1" * 20,
    "glpat-abcdefghij1234567890",
    "xoxb-123456789012-abcdefghijkl",
    "xapp-1-A0B1-123-abcdefabcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "AIza" + "a" * 35,
    "GOCSPX-" + "a" * 28,
    "ya29.a0AfH6SMBxxxxxxxxxxxxxxxxxxxx",
    "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789abcdefg",
    "hf_abcdefghijklmnopqrstuvwx",
    "gsk_" + "a1" * 20,
    "npm_" + "a" * 36,
    "pypi-AgEIcHlwaS5vcmcabcdefgh",
    "tvly-dev-" + "a1" * 12,
    "xai-" + "a" * 40,
    "nvapi-" + "a" * 40,
    "123456789:AAF" + "a" * 32,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF",
    "sk_live_" + "a" * 24,
    "rk_test_" + "a" * 24,
    "whsec_" + "a" * 32,
    "shpat_" + "a" * 32,
    "dop_v1_" + "a" * 64,
    "dckr_pat_" + "a" * 27,
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----",
]
HARMLESS = [
    "",
    "The token limit is 4096",
    "max_tokens=1024",
    "prompt_tokens: 12, completion_tokens: 34, 'total_tokens': 46",
    "max_token: 5",
    "token_type: bearer",
    "token: Token",
    "Unexpected token: '}'",
    "Unexpected token: else",
    "SyntaxError: unexpected token ) at line 3",
    "password must have 8 characters",
    "password: required",
    "password: string (required)",
    "def login(password: str) -> None",
    "password=True",
    "password=None",
    "password: ''",
    "set password=… in the configuration",
    "password: ********",
    "password=$DB_PASSWORD",
    "password=${DB_PASSWORD}",
    "api_key=<your_key>",
    "api_key = os.environ['OPENAI_API_KEY']",
    "KeyError: 'api_key'",
    "No API key found: set OPENAI_API_KEY",
    "Authorization: denied",
    "Authorization required",
    "Basic authentication is required",
    "basic understanding of maths",
    "The bearer certificate expired",
    "credentials: include",
    "credentialed=yes",
    "secretary: Mrs. Jones",
    "tokenizer: cl100k_base",
    "keyboard: qwerty",
    "monkey=banana",
    "key: value",
    "passport: TH123456",
    "compass=north",
    "author: Jane Doe",
    "https://example.com/path?x=1",
    "https://example.com:8080/a@b",
    "ssh://git@github.com/x.git",
    "mailto:joe@example.com",
    "see http://a.test: it says joe@b.test",
    "time 12:30:45, 1234567890:30",
    "git commit 0123456789abcdef0123456789abcdef01234567",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "sk-learn is a library",
    "risk-assessment-of-the-year-2024",
    "npm-run-all-of-the-scripts",
    "https://pypi.org/project/npm-check-updates-something",
    "hf_transfer_enabled_by_default",
    "gsk_plc_annual_report_2023_final",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "รหัสผ่านไม่ถูกต้อง",
    "密码错误",
    "[secret]: 5 and [secret]=x",
]


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_secret_is_masked(text: str) -> None:
    masked = mask_secrets(text)

    assert S not in masked
    assert MASK in masked


@pytest.mark.parametrize("key", FORMATS)
@pytest.mark.parametrize("around", ["{}", "invalid key {} given", '{{"k":"{}"}}'])
def test_a_key_of_a_known_format_is_masked_wherever_it_stands(key: str, around: str) -> None:
    masked = mask_secrets(around.format(key))

    assert masked == around.format(MASK) or key.startswith("-----BEGIN OPENSSH")
    assert "b3Bl" not in masked


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert mask_secrets(text) == text


def test_what_surrounds_a_secret_stays() -> None:
    text = f'connect(host="db", password="{S}", port=5432) to postgres://joe:{S}@db/app failed'

    assert mask_secrets(text) == (
        f'connect(host="db", password="{MASK}", port=5432) to postgres://{MASK}@db/app failed'
    )


def test_addresses_that_are_passwords_are_masked() -> None:
    slack = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXX"
    discord = "https://discord.com/api/webhooks/123456789/abcdef-ghijkl"

    telegram = "https://api.telegram.org/bot123456789:AAF" + "a" * 32 + "/getMe"

    assert mask_secrets(telegram) == f"https://api.telegram.org/bot{MASK}/getMe"
    assert mask_secrets(slack) == f"https://hooks.slack.com/services/{MASK}"
    assert mask_secrets(discord) == f"https://discord.com/api/webhooks/{MASK}"


def test_values_of_secret_variables_are_masked_longest_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACME_TOKEN", "plain words here")
    monkeypatch.setenv("ACME_API_KEY", "plain words here and more")
    monkeypatch.setenv("ACME_SECRET", "short")
    monkeypatch.setenv("ACME_NAME", "not a secret at all")

    masked = mask_secrets("plain words here and more; plain words here; short; not a secret at all")

    assert masked == f"{MASK}; {MASK}; short; not a secret at all"


def test_a_variable_that_changes_is_masked_by_its_new_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACME_TOKEN", "the first value")
    mask_secrets("anything")

    monkeypatch.setenv("ACME_TOKEN", "the second value")

    assert mask_secrets("the second value") == MASK


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "GH_TOKEN", "MYSQL_PWD", "DB_PASSWORD", "APIKEY"]
)
def test_names_of_secret_variables_are_told(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["PWD", "OLDPWD", "HOME", "TOKENIZERS_PARALLELISM", "KEYBOARD"])
def test_names_of_other_variables_are_told(name: str) -> None:
    assert not looks_secret(name)


@given(st.text(), st.sampled_from(PLANTED), st.text())
def test_masking_twice_changes_nothing_more(before: str, planted: str, after: str) -> None:
    masked = mask_secrets(f"{before} {planted} {after}")

    assert mask_secrets(masked) == masked


REPEATED = [
    "a", "a-", "-", "_", ".", "=", ":", "://", "://a:", "http://a:b", "@", "eyJaaaaaaaa-",
    "eyJaaaaaaaa.", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN A A", "password",
    "password=", "password='", 'token="', "token ", "token\"   ", "secret_-", "api key ", "--a ",
    "bearer ", "bearer a", "basic a.", "cookie:", "sk-", "sk-a", "SG.a", "SG." + "a" * 16 + ".",
    "12345678:", "123456789", "xoxb-", "\\", "'\\", '"', "\n", " ", "${A", "ั", "密",
    "/api/webhooks/1", "password=os.environ", "token=a.", "password=a", "password=',", "password=(",
]  # fmt: skip
_CHILD = """
import json, signal, sys
from openjarvis.safety.secrets import mask_secrets
for unit in json.load(sys.stdin):
    signal.setitimer(signal.ITIMER_VIRTUAL, 2.0)  # of CPU time; the signal ends the process
    mask_secrets((unit * 400_000)[:400_000])
    mask_secrets("password=" + (unit * 400_000)[:400_000])
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(json.dumps(unit), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX timers")
def test_no_repetition_takes_more_time_than_its_length() -> None:
    child = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps(REPEATED),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    finished = [json.loads(line) for line in child.stdout.splitlines()]

    assert finished == REPEATED
