import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.memory.segment import (
    LONGEST_TERM,
    MOST_QUERY_TERMS,
    VERSION,
    document_terms,
    is_older,
    parse_query,
    unit_spans,
)


def begins_a_term(character: str, text: str) -> bool:
    return any(term.startswith(character) for term in document_terms(text))


def found_in(query: str, text: str) -> bool:
    parsed = parse_query(query)
    return bool(set(parsed.terms) & set(document_terms(text))) or any(
        begins_a_term(character, text) for character in parsed.characters
    )


@pytest.mark.parametrize(
    ("query", "text"),
    [
        # accents, case, width
        ("cafe", "le CAFÉ est fermé"),
        ("café", "cafe"),
        ("STRASSE", "die Straße"),
        ("lodz", "Łódź"),
        ("ΣΟΦΟΣ", "σοφός"),
        ("duong", "Đường"),
        ("istanbul", "İSTANBUL"),
        ("abc123", "ＡＢＣ１２３"),
        ("שלום", "שָׁלוֹם"),
        ("محمد", "مُحَمَّد"),
        ("naive", "nai\u0308ve"),
        # identifiers, whole and by part
        ("getUserName", "x = getUserName()"),
        ("getusername", "getUserName"),
        ("user", "getUserName"),
        ("server", "HTTPServer2"),
        ("http", "HTTPServer2"),
        ("max_retry_count", "self.max_retry_count = 3"),
        ("maxRetryCount", "max_retry_count"),
        ("max-retry-count", "MAX_RETRY_COUNT"),
        ("retry", "max_retry_count"),
        ("sqlite.py", "see src/openjarvis/memory/sqlite.py:12"),
        ("src/openjarvis", "src/openjarvis/memory/sqlite.py"),
        ("memory", "src\\openjarvis\\memory"),
        ("std::vector", "std::vector<int>"),
        ("email", "an e-mail"),
        ("dont", "don't"),
        ("don’t", "don't"),
        ("someone@example.com", "write to someone@example.com."),
        ("C++", "written in C++."),
        ("c", "written in C++"),
        ("F#", "(F#)"),
        # numbers and versions
        ("3.11.7", "Python 3.11.7,"),
        ("3.11", "Python 3.11.7"),
        ("v2.1", "since v2.1."),
        ("1234567", "1,234,567 units"),
        ("1,234,567", "1234567"),
        ("234", "1,234,567"),
        ("1000000", "1_000_000"),
        ("20241130", "2024-11-30"),
        ("0212345678", "02-1234-5678"),
        ("2567", "พ.ศ. ๒๕๖๗"),
        ("42", "العدد ٤٢"),
        # no spaces between words
        ("ประชุม", "กำหนดการประชุมใหญ่"),
        ("ปี", "ทุกปีใหม่"),
        ("น้ำ", "ไปน้ำตก"),
        ("น้ำตก", "ไปน้\u200bำตก"),
        ("ยา", "รับประทานยาหลังอาหาร"),
        ("会议", "关于会议的通知"),
        ("茶", "龙井茶很好"),
        ("𠮷", "𠮷野家"),
        ("東京", "東京都の人口"),
        ("コンピュータ", "新しいコンピューターを"),
        ("プロジェクト", "ﾌﾟﾛｼﾞｪｸﾄの締め切り"),
        ("学校", "小学校に"),
        ("학교", "우리 학교에서"),
        ("물", "찬 물"),
        ("ພາສາ", "ຮຽນພາສາລາວ"),
        ("ភាសា", "រៀនភាសាខ្មែរ"),
        ("မြန်မာ", "ကျွန်တော်မြန်မာစကားပြောတယ်"),
        ("恤", "T恤衫"),
        ("T恤", "一件T恤"),
        # spaced scripts with vowel signs
        ("हिन्दी", "मैं हिन्दी बोलता हूँ।"),
        ("தமிழ்", "நான் தமிழ் பேசுகிறேன்"),
    ],
)  # fmt: skip
def test_a_query_finds_a_text(query: str, text: str) -> None:
    assert found_in(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("tea", "teapot"),
        ("teapot", "tea"),
        ("กา", "ดี"),
        ("が", "か"),  # a voiced kana is another letter
        ("ที่", "ทีม"),  # a tone makes another syllable
        ("会", "合"),
        ("3.11", "311"),
    ],
)
def test_a_query_does_not_find_what_is_not_there(query: str, text: str) -> None:
    assert not found_in(query, text)


@pytest.mark.parametrize(
    "text", ["", " \n", "…", "* () \"' --", "_", "🎉", "\u200b", "฿ ๏", "。、"]
)
def test_text_without_words_has_no_terms(text: str) -> None:
    assert document_terms(text) == []
    assert parse_query(text) == ((), (), ())


def test_only_a_name_that_ends_with_its_sign_keeps_it() -> None:
    assert document_terms("page=2#part") == ["page", "2", "part"]
    assert document_terms("a++b") == ["ab", "a", "b"]


def test_a_word_is_counted_as_often_as_it_stands_there() -> None:
    assert document_terms("tea tea, TEA").count("tea") == 3


def test_terms_have_no_separator_that_a_database_could_split_at() -> None:
    text = "a.b C++ F# 3.11.7 getUserName 1,000 e-mail ไปน้ำตก 会议 x/y\\z don't ½ №5"

    assert all(
        character.isalnum() or ord(character) > 127
        for term in document_terms(text)
        for character in term
    )


def test_endless_words_are_cut_alike_in_texts_and_queries() -> None:
    blob = "QUJD" * 500

    assert max(map(len, document_terms(blob))) == LONGEST_TERM
    assert set(parse_query(blob).terms) <= set(document_terms(blob))


def test_a_long_query_is_searched_by_its_first_terms() -> None:
    query = parse_query(" ".join(f"word{number}" for number in range(10_000)) + "会议" * 10_000)

    assert len(query.terms) == MOST_QUERY_TERMS
    assert len(query.windows) <= MOST_QUERY_TERMS


@given(st.text())
def test_any_text_is_found_by_itself(text: str) -> None:
    terms = document_terms(text)

    query = parse_query(text)
    assert set(query.terms) <= set(terms)
    assert bool(query.terms or query.characters) == bool(terms)
    assert not any(character.isspace() for term in terms for character in term)
    assert "" not in terms


@given(st.text(alphabet="กขคงาิี่้์ำเแโใไะั漢字かなカナ한글ab \u200b"), st.data())
def test_any_piece_of_an_unspaced_text_is_found(text: str, data: st.DataObject) -> None:
    units = [text[start:end] for start, end in unit_spans(text)]
    start = data.draw(st.integers(0, len(units)))
    end = data.draw(st.integers(start, len(units)))
    piece = text[unit_spans(text)[start][0] : unit_spans(text)[end - 1][1]] if end > start else ""

    query = parse_query(piece)

    if not any(character in "ab" for character in text):  # words of letters are found whole only
        assert set(query.terms) <= set(document_terms(text))
        assert all(begins_a_term(character, text) for character in query.characters)


@given(st.text(max_size=300))
def test_units_cover_everything_but_white_space(text: str) -> None:
    spans = unit_spans(text)

    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    kept = "".join(text[start:end] for start, end in spans)
    assert kept == "".join(text.split()) or set(text) & set("\x1c\x1d\x1e\x1f\x85")


@pytest.mark.parametrize(
    "cluster",
    ["e\u0301", "น้ำ"[:2], "ที่", "👩‍🔬", "🇹🇭", "1\ufe0f\u20e3", "ខ្មែ", "क्‍ष", "👍🏽", "が"],
)
def test_a_unit_never_ends_inside_a_character(cluster: str) -> None:
    text = (cluster + "ก" + cluster) * 40 + cluster * 200

    borders = {border for span in unit_spans(text) for border in span}

    starts = [place for place in range(len(text)) if text.startswith(cluster, place)]
    assert not any(
        place + inside in borders for place in starts for inside in range(1, len(cluster))
    )


@pytest.mark.parametrize(
    "piece",
    [
        "`", "_", "(", "\u200d", "\u0301", "a.", "aA", "1,111", "'", "1.", "ก", "\u0e48", "🇹", "é/",
        "\u17d2", "a+", "#", "Aa1_", "\n", " ",
    ],
)  # fmt: skip
def test_no_text_takes_more_than_its_length_is_worth(piece: str) -> None:
    text = piece * (200_000 // len(piece))

    started = time.process_time()
    document_terms(text)
    parse_query(text)
    unit_spans(text)

    assert time.process_time() - started < 5


def test_versions_of_the_segmenter_are_compared_as_numbers() -> None:
    assert is_older("0.99.0.0")
    assert is_older("1.9.0.0") != is_older(VERSION)
    assert not is_older(VERSION)
    assert not is_older("99.1.0.0")
