from collections import defaultdict

import pytest

from memory.judged import DOCUMENTS, QUERIES, language
from openjarvis.memory import Document
from openjarvis.memory.ranked import RankedMemory


def test_the_judged_documents_are_found(
    memory: RankedMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.store_many([Document(text, name) for name, text in DOCUMENTS.items()])
    recalls: dict[str, list[float]] = defaultdict(list)
    first: list[float] = []
    missed: list[str] = []

    for query, relevant in QUERIES:
        found = [result.source for result in memory.retrieve(query, top_k=5)]
        recall = len(set(found) & set(relevant)) / len(relevant)
        recalls[language(relevant[0])].append(recall)
        ranks = [rank for rank, name in enumerate(found, 1) if name in relevant]
        first.append(1 / ranks[0] if ranks else 0)
        missed += [f"{query} -> {found}"] if recall < 1 else []

    every = [recall for of_language in recalls.values() for recall in of_language]
    with capsys.disabled():
        parts = ", ".join(f"{name} {_mean(of):.3f}" for name, of in recalls.items())
        print(
            f"\n{memory.backend_id}: {len(DOCUMENTS)} documents, {len(QUERIES)} queries: "
            f"recall@5 {_mean(every):.3f} ({parts}), mean reciprocal rank {_mean(first):.3f}"
        )
    assert min(map(len, recalls.values())) >= 12
    assert all(_mean(of_language) >= 0.95 for of_language in recalls.values()), missed
    assert _mean(first) >= 0.9


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)
