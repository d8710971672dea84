"""What both databases must do alike."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from openjarvis.core.events import EventBus, EventType, get_event_bus
from openjarvis.memory import Document
from openjarvis.memory.ranked import RankedMemory


def contents(memory: RankedMemory, query: str, top_k: int = 5) -> list[str]:
    return [found.content for found in memory.retrieve(query, top_k=top_k)]


def test_what_was_stored_is_found_with_its_source_and_metadata(memory: RankedMemory) -> None:
    key = memory.store("The kettle is in the attic", source="notes.md", metadata={"page": 3})

    (found,) = memory.retrieve("kettle")

    assert found.content == "The kettle is in the attic"
    assert (found.source, found.metadata, found.id) == ("notes.md", {"page": 3}, key)
    assert found.score > 0


def test_a_text_with_more_of_the_query_comes_first(memory: RankedMemory) -> None:
    memory.store("apples and pears")
    memory.store("apples, pears and plums")
    memory.store("plums")
    memory.store("something else entirely")

    assert contents(memory, "pears plums")[0] == "apples, pears and plums"
    scores = [found.score for found in memory.retrieve("pears plums apples")]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_a_rare_word_says_more_than_a_frequent_one(memory: RankedMemory) -> None:
    memory.store_many([Document(f"the report number {number}") for number in range(20)])
    memory.store("the zebra")

    assert contents(memory, "report zebra")[0] == "the zebra"


def test_even_a_word_that_stands_in_every_text_scores_above_zero(memory: RankedMemory) -> None:
    memory.store("tea")
    memory.store("tea tea")

    assert [round(found.score, 6) > 0 for found in memory.retrieve("tea")] == [True, True]


@pytest.mark.parametrize("top_k", [0, -1])
def test_no_room_for_results_gives_none(memory: RankedMemory, top_k: int) -> None:
    memory.store("tea")

    assert memory.retrieve("tea", top_k=top_k) == []


def test_more_than_a_database_can_count_is_all_there_is(memory: RankedMemory) -> None:
    memory.store("tea")

    assert contents(memory, "tea", top_k=10**30) == ["tea"]


def test_at_most_top_k_are_given(memory: RankedMemory) -> None:
    memory.store_many([Document(f"tea {number}") for number in range(60)])

    assert len(memory.retrieve("tea", top_k=3)) == 3
    assert len(memory.retrieve("tea", top_k=55)) == 55


@pytest.mark.parametrize("query", ["", " ", "\n\t", "...", "?!", "*", '"', "'", "\u200b", "🎉"])
def test_a_query_without_a_word_finds_nothing(memory: RankedMemory, query: str) -> None:
    memory.store('tea * " AND')

    assert memory.retrieve(query) == []


@pytest.mark.parametrize(
    "query",
    [
        'tea"', "tea'", "tea*", "(tea", "tea AND", "AND tea OR NOT", "NEAR(tea, 3)", "terms:tea",
        "tea -green", "^tea", "tea; DROP TABLE documents;--", "tea\0", "tea \ud800", "%tea%",
        "te_a tea", "tea | x & !y", "{tea}", "tea" + " x" * 5000, "\\tea", "tea:*", "tea <-> x",
        "%s tea %(a)s", "? tea",
    ],
)  # fmt: skip
def test_no_character_of_a_query_is_syntax(memory: RankedMemory, query: str) -> None:
    memory.store("green tea")
    memory.store("unrelated")

    assert contents(memory, query) == ["green tea"]


def test_a_query_finds_whole_words_only(memory: RankedMemory) -> None:
    memory.store("teapot")

    assert contents(memory, "tea") == []


def test_each_store_has_an_id_of_its_own(memory: RankedMemory) -> None:
    first = memory.store("tea", source="a")
    second = memory.store("tea", source="a")

    assert first != second
    assert memory.count() == 2
    assert memory.delete(first)
    assert [found.id for found in memory.retrieve("tea")] == [second]


def test_a_deleted_text_is_gone_once(memory: RankedMemory) -> None:
    key = memory.store("ชาเขียว café getUserName tea")

    assert memory.delete(key)

    assert not memory.delete(key)
    assert memory.count() == 0
    for word in ("ชา", "cafe", "user", "tea"):
        assert contents(memory, word) == []


@pytest.mark.parametrize("wrong", ["", "0", "-1", "01", " 1", "1 ", "x", "9" * 30, "１", "1.0"])
def test_what_is_no_id_deletes_nothing(memory: RankedMemory, wrong: str) -> None:
    assert memory.store("tea") == "1"

    assert not memory.delete(wrong)
    assert memory.count() == 1


def test_an_id_is_never_used_again(memory: RankedMemory) -> None:
    key = memory.store("tea")
    memory.clear()

    assert memory.store("coffee") != key
    assert not memory.delete(key)


def test_clear_forgets_all(memory: RankedMemory) -> None:
    memory.store("tea")
    memory.replace_file("/a", "1", [Document("tea")])

    memory.clear()

    assert memory.count() == 0
    assert contents(memory, "tea") == []
    assert memory.indexed_files("/") == {}


def test_many_are_stored_in_order(memory: RankedMemory) -> None:
    keys = memory.store_many([Document("one", "a"), Document("two", "b", {"n": 2})])

    assert [found.id for found in memory.retrieve("two")] == keys[1:]
    assert memory.store_many([]) == []


@pytest.mark.parametrize("content", ["a\0b", "half \ud800 pair", "", " ", "x" * 200_000, "🎉"])
def test_any_text_can_be_stored(memory: RankedMemory, content: str) -> None:
    key = memory.store(content, source="\0\udfff")

    assert memory.count() == 1
    assert memory.delete(key)


def test_what_no_database_takes_becomes_a_replacement_sign(memory: RankedMemory) -> None:
    memory.store("tea\0 \ud800 \U0001f389", metadata={"a\0": "\udfff"})

    (found,) = memory.retrieve("tea")

    assert found.content == "tea\ufffd \ufffd \U0001f389"
    assert json.dumps(found.metadata)


@pytest.mark.parametrize("metadata", [{"x": object()}, {"x": float("nan")}, {"x": {1, 2}}])
def test_metadata_that_json_cannot_hold_is_refused(
    memory: RankedMemory, metadata: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match="must be JSON"):
        memory.store("tea", metadata=metadata)

    assert memory.count() == 0


def test_the_bus_hears_of_stores_and_searches(memory: RankedMemory) -> None:
    heard: list[tuple[str, dict[str, object]]] = []
    for kind in (EventType.MEMORY_STORE, EventType.MEMORY_RETRIEVE):
        get_event_bus().subscribe(kind, lambda event: heard.append((event.event_type, event.data)))

    key = memory.store("tea", source="a")
    memory.retrieve("tea")

    assert heard == [
        ("memory_store", {"backend": memory.backend_id, "doc_id": key, "source": "a"}),
        ("memory_retrieve", {"backend": memory.backend_id, "query": "tea", "num_results": 1}),
    ]


def test_the_bus_is_looked_up_under_its_documented_name(
    memory: RankedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = EventBus(record_history=True)
    monkeypatch.setattr(f"openjarvis.memory.{memory.backend_id}.get_event_bus", lambda: bus)

    memory.store("tea")
    memory.retrieve("tea")

    assert [event.event_type for event in bus.history] == [
        EventType.MEMORY_STORE,
        EventType.MEMORY_RETRIEVE,
    ]


def test_many_threads_share_a_memory(memory: RankedMemory) -> None:
    def work(number: int) -> int:
        key = memory.store(f"tea {1000 + number}")
        found = memory.retrieve(f"{1000 + number}")
        assert [one.id for one in found] == [key]
        return int(memory.delete(key)) if number % 2 else 0

    with ThreadPoolExecutor(16) as pool:
        deleted = sum(pool.map(work, range(200)))

    assert deleted == 100
    assert memory.count() == 100


def test_a_memory_opened_again_has_what_was_stored(open_memory: object) -> None:
    first = open_memory()  # type: ignore[operator]
    first.store("tea")
    first.close()

    second = open_memory()  # type: ignore[operator]

    assert contents(second, "tea") == ["tea"]


def test_closing_twice_is_fine(memory: RankedMemory) -> None:
    memory.close()
    memory.close()


def test_a_file_is_replaced_as_a_whole(memory: RankedMemory) -> None:
    memory.replace_file("/f/a", "1", [Document("old tea", "/f/a"), Document("old cup", "/f/a")])
    memory.replace_file("/f/b", "1", [Document("other tea", "/f/b")])

    memory.replace_file("/f/a", "2", [Document("new tea", "/f/a")])

    assert sorted(contents(memory, "tea cup")) == ["new tea", "other tea"]
    assert memory.indexed_files("/f") == {"/f/a": "2", "/f/b": "1"}


def test_a_forgotten_file_is_gone(memory: RankedMemory) -> None:
    memory.replace_file("/f/a", "1", [Document("tea")])
    memory.store("tea by hand")

    memory.forget_file("/f/a")
    memory.forget_file("/f/none")

    assert contents(memory, "tea") == ["tea by hand"]
    assert memory.indexed_files("/f") == {}


def test_only_files_below_a_folder_are_listed(memory: RankedMemory) -> None:
    for path in ("/f", "/f/a", "/f/ก", "/f/z/z", "/f.txt", "/f2/a", "/f-x", "/g", "/F/a", "/f0"):
        memory.replace_file(path, "1", [])

    assert set(memory.indexed_files("/f")) == {"/f", "/f/a", "/f/ก", "/f/z/z"}
    assert len(memory.indexed_files("/")) == 10


def test_frequent_words_do_not_hide_a_rare_one(
    memory: RankedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("ranking", "sqlite_entries", "postgres_entries"):
        monkeypatch.setattr(f"openjarvis.memory.{module}.MOST_SCORED", 10)
    memory.store("the zebra")
    memory.store_many([Document(f"the cat {number}") for number in range(40)])

    assert contents(memory, "the cat zebra", top_k=1) == ["the zebra"]
    assert len(contents(memory, "the")) == 5
