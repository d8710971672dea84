from openjarvis.memory.ranking import Corpus, fused, plan, score
from openjarvis.memory.segment import parse_query


def corpus(**holding: int) -> Corpus:
    return Corpus(documents=100, words=1000, holding=holding)


def test_of_two_texts_with_the_word_the_shorter_is_better() -> None:
    query = parse_query("tea")

    short = score(query, "tea for two", corpus(tea=10))
    long = score(query, "tea for two" + " and many other words" * 5, corpus(tea=10))

    assert short > long > 0


def test_words_that_stand_together_as_asked_raise_a_text() -> None:
    query = parse_query("ประชุม")
    known = Corpus(100, 1000, dict.fromkeys(query.terms, 10))

    whole = score(query, "วันประชุมนี้", known)
    scattered = score(query, "ปร ระ ะชุ ชุม นี้", known)

    assert whole > 1.2 * scattered > 0


def test_a_text_without_the_words_scores_nothing() -> None:
    assert score(parse_query("tea"), "coffee", corpus(tea=10)) == 0


def test_even_a_word_of_every_text_has_a_weight() -> None:
    assert 0 < corpus(tea=100).weight("tea") < corpus(tea=10).weight("tea")
    assert corpus(tea=1000).weight("tea") > 0  # counted while others store


def test_an_empty_memory_has_an_average_all_the_same() -> None:
    assert Corpus(0, 0, {}).average_length == 1


def test_rare_words_lead_and_those_of_most_texts_do_not_count() -> None:
    known = Corpus(100_000, 2_000_000, {"the": 90_000, "report": 20_000, "zebra": 7, "tax": 900})

    search = plan(parse_query("the report on zebra tax"), known)

    assert search is not None
    assert search.narrow == ("zebra", "tax")
    assert search.terms == ("zebra", "tax", "report")


def test_a_word_of_most_texts_leads_when_there_is_no_other() -> None:
    search = plan(parse_query("the"), Corpus(100_000, 2_000_000, {"the": 90_000}))

    assert search is not None
    assert search.narrow == search.terms == ("the",)


def test_unknown_words_make_no_plan() -> None:
    assert plan(parse_query("unknown"), corpus()) is None


def test_what_several_rankings_hold_comes_first() -> None:
    assert list(fused([[1, 2, 3], [4, 3]])) == [3, 1, 4, 2]
