import sys
from collections.abc import Callable

import pytest

from openjarvis.memory import Document, Embedder, MemoryFailed
from openjarvis.memory.ranked import RankedMemory

OpenMemory = Callable[..., RankedMemory]

_MEANINGS = (("cat", "kitten", "feline"), ("car", "automobile", "vehicle"), ("sea", "ocean"))


def by_meaning(texts: list[str]) -> list[list[float]]:
    """An embedder that knows three meanings."""
    return [
        [float(sum(word in text.lower() for word in words)) for words in _MEANINGS] + [0.01]
        for text in texts
    ]


def wider(texts: list[str]) -> list[list[float]]:
    return [[*vector, 0.0] for vector in by_meaning(texts)]


@pytest.fixture
def memory(open_memory: OpenMemory) -> RankedMemory:
    return open_memory(by_meaning)


def contents(memory: RankedMemory, query: str, top_k: int = 5) -> list[str]:
    return [found.content for found in memory.retrieve(query, top_k=top_k)]


def test_a_text_is_found_by_meaning_without_a_common_word(memory: RankedMemory) -> None:
    memory.store("the kitten sleeps")
    memory.store("an automobile")

    assert contents(memory, "feline", top_k=1) == ["the kitten sleeps"]
    assert all(found.score > 0 for found in memory.retrieve("feline"))


def test_a_text_that_both_rankings_hold_comes_first(memory: RankedMemory) -> None:
    memory.store("cat food")  # by word and meaning
    memory.store("kitten")  # by meaning
    memory.store("food for thought")  # by word

    assert contents(memory, "food of a cat")[0] == "cat food"
    assert set(contents(memory, "food of a cat")) == {"cat food", "kitten", "food for thought"}


def test_a_blank_query_finds_nothing_and_asks_no_embedder(open_memory: OpenMemory) -> None:
    def refuse(texts: list[str]) -> list[list[float]]:
        raise AssertionError

    assert open_memory(refuse).retrieve(" ") == []


def test_deleted_and_replaced_texts_are_no_longer_near(memory: RankedMemory) -> None:
    key = memory.store("kitten")
    memory.replace_file("/a", "1", [Document("feline")])
    assert len(contents(memory, "cat")) == 2

    memory.delete(key)
    memory.replace_file("/a", "2", [Document("ocean")])

    assert contents(memory, "cat", top_k=1) == ["ocean"]
    memory.clear()
    assert contents(memory, "cat") == []


def test_other_processes_vectors_are_seen(open_memory: OpenMemory) -> None:
    ours, theirs = open_memory(by_meaning), open_memory(by_meaning)
    ours.store("ocean")
    assert contents(ours, "sea") == ["ocean"]

    key = theirs.store("the sea is wide")
    theirs.delete(theirs.store("sea"))

    assert set(contents(ours, "ocean")) == {"ocean", "the sea is wide"}
    theirs.delete(key)
    assert contents(ours, "ocean") == ["ocean"]
    theirs.clear()
    assert contents(ours, "ocean") == []


def test_vectors_of_another_dimension_are_refused_with_what_to_do(open_memory: OpenMemory) -> None:
    open_memory(by_meaning).store("cat")
    other = open_memory(wider)

    with pytest.raises(MemoryFailed, match=r"vectors of 4 numbers.*gives 5.*embed_again"):
        other.store("kitten")
    with pytest.raises(MemoryFailed, match="embed_again"):
        other.retrieve("kitten")
    assert other.count() == 1


def test_all_can_be_embedded_again(open_memory: OpenMemory) -> None:
    first = open_memory(by_meaning)
    first.store_many([Document(f"cat {number}") for number in range(150)])
    assert len(contents(first, "kitten", top_k=200)) == 150
    second = open_memory(wider)

    assert second.embed_again() == 150

    assert len(contents(second, "kitten", top_k=200)) == 150
    second.store("feline")
    with pytest.raises(MemoryFailed, match="embed_again"):
        first.retrieve("kitten")


def test_texts_stored_before_get_their_vectors_then(open_memory: OpenMemory) -> None:
    open_memory().store("cat")
    memory = open_memory(by_meaning)
    assert contents(memory, "kitten") == []

    memory.embed_again()

    assert contents(memory, "kitten") == ["cat"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda texts: [],
        lambda texts: [[1.0]] * (len(texts) + 1),
        lambda texts: [[]] * len(texts),
        lambda texts: [[float("nan")]] * len(texts),
        lambda texts: [[float("inf")]] * len(texts),
    ],
)
def test_what_is_no_vector_is_refused_before_anything_is_stored(
    open_memory: OpenMemory, wrong: Embedder
) -> None:
    memory = open_memory(wrong)

    with pytest.raises(MemoryFailed, match="embedder"):
        memory.store("cat")

    assert memory.count() == 0


def test_vectors_of_unequal_lengths_are_refused(open_memory: OpenMemory) -> None:
    memory = open_memory(lambda texts: [[1.0] * (n + 1) for n in range(len(texts))])

    with pytest.raises(MemoryFailed, match="one dimension"):
        memory.store_many([Document("a"), Document("b")])


def test_a_vector_of_zeros_is_near_to_nothing_and_harms_nobody(open_memory: OpenMemory) -> None:
    memory = open_memory(lambda texts: [[0.0, 0.0]] * len(texts))
    memory.store("cat")

    assert contents(memory, "cat") == ["cat"]


def test_many_removed_texts_do_not_crowd_out_the_rest(
    memory: RankedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openjarvis.memory.vectors._MOST_STALE", 20)
    memory.store("feline")
    keys = memory.store_many([Document("cat kitten") for _ in range(60)])
    assert len(contents(memory, "kitten", top_k=100)) == 61

    for number, key in enumerate(keys):
        memory.delete(key)
        if number % 7 == 0:
            assert len(contents(memory, "kitten", top_k=100)) == 60 - number

    assert contents(memory, "kitten") == ["feline"]


def test_removed_texts_take_no_room_among_the_nearest(memory: RankedMemory) -> None:
    memory.store("ocean")
    keys = memory.store_many([Document("cat") for _ in range(80)])
    assert len(contents(memory, "kitten", top_k=100)) == 81

    for key in keys[:70]:
        memory.delete(key)

    assert len(contents(memory, "kitten", top_k=40)) == 11


def test_only_the_direction_of_a_vector_counts(open_memory: OpenMemory) -> None:
    def loud(texts: list[str]) -> list[list[float]]:
        return [[1000.0, 900.0] if "loud" in text else [1.0, 0.0] for text in texts]

    memory = open_memory(loud)
    memory.store("loud")
    memory.store("calm")

    assert contents(memory, "quiet", top_k=1) == ["calm"]


def test_vectors_made_again_are_seen_by_those_who_held_the_old(open_memory: OpenMemory) -> None:
    def swapped(texts: list[str]) -> list[list[float]]:
        return [[vector[1], vector[0], *vector[2:]] for vector in by_meaning(texts)]

    open_memory(by_meaning).store_many([Document("cat"), Document("car")])
    reader = open_memory(swapped)
    assert contents(reader, "kitten", top_k=1) == ["car"]

    open_memory(swapped).embed_again()

    assert contents(reader, "kitten", top_k=1) == ["cat"]


def test_without_numpy_the_extra_is_named(
    memory: RankedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)

    with pytest.raises(MemoryFailed, match=r"openjarvis\[vectors\]"):
        memory.retrieve("cat")
