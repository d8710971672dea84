import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from memory.document_files import pdf, word_document
from openjarvis.memory.files import Skip, SkippedFile
from openjarvis.memory.readers import read_text


def read(name: str, content: bytes) -> str:
    return read_text(Path(name), content)


def reason(name: str, content: bytes) -> Skip:
    with pytest.raises(SkippedFile) as caught:
        read(name, content)
    return caught.value.reason


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "plain ไทย 中文"),
        ("utf-8-sig", "with a mark"),
        ("utf-16", "Meeting at 3 — นัดประชุม"),
        ("utf-16-le", "Meeting at three o'clock on Wednesday in the office"),
        ("utf-32", "Meeting at three"),
        ("tis-620", "กำหนดการประชุมใหญ่สามัญประจำปี ณ โรงแรมในเชียงใหม่ วันศุกร์ที่ ๓"),
        ("gb18030", "会议将于下周三下午三点在北京开始，请准时参加。"),
        ("big5", "會議將於下週三下午三點在台北開始，請準時參加。"),
        ("shift_jis", "来週の水曜日に東京で会議があります。資料を持ってきてください。"),
        ("euc-jp", "来週の水曜日に東京で会議があります。資料を持ってきてください。"),
        ("euc-kr", "다음 주 수요일에 서울에서 회의가 있습니다. 자료를 가져오세요."),
        ("cp1251", "Совещание начнётся в среду в три часа дня в Москве."),
        ("koi8-r", "Совещание начнётся в среду в три часа дня в Москве."),
        ("cp1252", "Le café est fermé à midi. C’est très désagréable pour les élèves."),
        ("cp1256", "يبدأ الاجتماع يوم الأربعاء الساعة الثالثة"),
    ],
)
def test_plain_text_is_read_in_its_encoding(encoding: str, text: str) -> None:
    assert read("notes.txt", text.encode(encoding)) == text


@pytest.mark.parametrize(
    "content",
    [
        b"\x7fELF\x02\x01\x01\0\0\0" + bytes(range(256)),
        bytes(range(256)) * 20,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(200),
        b"mostly text\0but not\0quite" * 3,
        b"\x1f\x8b\x08\0" + bytes(range(255, 0, -1)),
        b"\x01\x02\x03\x04\x05",
    ],
)
def test_binary_content_is_told_whatever_its_name(content: bytes) -> None:
    assert reason("notes.txt", content) in {Skip.BINARY, Skip.ENCODING}


def test_noise_in_no_encoding_is_not_guessed() -> None:
    assert reason("notes.txt", b"\x80\x81plain \xff\xfe" * 4) is Skip.ENCODING


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
def test_line_ends_become_one_kind(ending: str) -> None:
    assert read("a.md", f"a{ending}b".encode()) == "a\nb"


def test_html_gives_its_text_in_blocks_with_code_as_it_stands() -> None:
    page = """<html><head><title>Guide</title><style>p{}</style></head><body>
      <h1>Start   here</h1><p>One <b>two</b><br>three &amp; four</p><script>alert(1)</script>
      <ul><li>first<li>second</ul><pre>def f():
    return 1</pre><table><tr><td>a</td><td>b</td></tr></table></body></html>"""

    text = read("page.html", page.encode())

    assert text.startswith("Guide\n\n")
    assert "Start here\n\nOne two\nthree & four" in text
    assert "first\nsecond" in text
    assert "```\ndef f():\n    return 1\n```" in text
    assert "a b" in text
    assert "alert" not in text
    assert "p{}" not in text


def test_html_is_read_in_the_encoding_it_names() -> None:
    page = '<html><meta charset="shift_jis"><body><p>会議があります</p>'.encode("shift_jis")

    assert "会議があります" in read("page.htm", page)


@pytest.mark.parametrize("page", ["<div>" * 200_000, "<table><tr><td>" * 50_000, "<b>" * 100_000])
def test_a_page_nested_without_end_is_refused_at_once(page: str) -> None:
    started = time.process_time()

    assert reason("page.html", page.encode()) is Skip.DAMAGED
    assert time.process_time() - started < 5


def test_escaped_json_becomes_readable() -> None:
    assert "กา" in read("a.json", rb'{"a": "\u0e01\u0e32"}')
    assert "กา" in read("a.jsonl", b'{"a": 1}\n' + rb'{"a": "\u0e01\u0e32"}')


@pytest.mark.parametrize("content", [b"[" * 500_000, b"{not json", b"1" * 100_000, b""])
def test_what_is_no_json_is_read_as_text(content: bytes) -> None:
    assert read("a.json", content) == content.decode()


def test_csv_and_code_are_read_as_they_stand() -> None:
    assert read("a.csv", b"id,name\n1,tea\n") == "id,name\n1,tea\n"
    assert read("a.py", b"def f():\n\treturn 1\n") == "def f():\n\treturn 1\n"


def test_pdf_and_docx_are_read() -> None:
    assert "Harbour tariff" in read("a.pdf", pdf("Harbour tariff"))

    text = read("a.docx", word_document("Rules", "Be kind.", ["one", "สอง"]))

    assert text == "## Rules\n\nBe kind.\n\none | สอง"


@pytest.mark.parametrize("name", ["a.pdf", "a.docx"])
@pytest.mark.parametrize("content", [b"", b"junk", b"%PDF-1.4\njunk", b"PK\x03\x04junk"])
def test_damaged_documents_are_told(name: str, content: bytes) -> None:
    assert reason(name, content) is Skip.DAMAGED


def test_a_document_that_would_unpack_without_end_is_refused() -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/document.xml", bytes(250_000_000))

    assert reason("a.docx", packed.getvalue()) is Skip.TOO_LARGE


@pytest.mark.parametrize(("name", "module"), [("a.pdf", "pypdf"), ("a.docx", "docx")])
def test_without_the_extra_the_reason_says_so(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    assert reason(name, b"") is Skip.NEEDS_EXTRA
    assert "documents" in Skip.NEEDS_EXTRA
