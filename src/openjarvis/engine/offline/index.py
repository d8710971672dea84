"""A tool as the `offline` engine knows it: weighed words, arguments, lessons of its examples."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from openjarvis.engine.offline.examples import Lesson, lesson_of
from openjarvis.engine.offline.schema import (
    Kind,
    Parameter,
    has_unfillable,
    name_words,
    parameters_of,
)
from openjarvis.engine.offline.script import fold, stem, word_before, words
from openjarvis.engine.offline.words import grams, is_content
from openjarvis.toolkit.base import ToolSpec

_NAME, _EXAMPLE, _DESCRIPTION, _PARAMETER = 1.0, 1.0, 0.7, 0.4
_MOST = 1.2
_COMPUTE = "calculate compute evaluate solve equals equal total answer sum"
_CACHED_TOOLS = 512
_READ = 1_500


@dataclass(frozen=True, slots=True)
class ToolIndex:
    """What is known of a tool; `vocabulary` weighs its stems and n-grams.

    `unfillable` tells that it requires an argument that its schema does not describe.
    """

    name: str
    parameters: list[Parameter]
    vocabulary: dict[str, float]
    lessons: list[Lesson]
    unfillable: bool


class _Key:
    """A spec that is the same as another one when it reads the same."""

    __slots__ = ("_text", "spec")

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec
        self._text = (
            spec.name,
            spec.description,
            spec.category,
            repr(spec.parameters),
            repr(spec.examples),
        )

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._text == other._text


def index_of(spec: ToolSpec) -> ToolIndex:
    """Return what is known of a tool; a tool that was seen before costs next to nothing."""
    return _index(_Key(spec))


@lru_cache(maxsize=_CACHED_TOOLS)
def _index(key: _Key) -> ToolIndex:
    spec = key.spec
    parameters = parameters_of(spec)
    vocabulary: dict[str, float] = {}
    _learn(vocabulary, _features(" ".join(name_words(spec.name))), _NAME)
    _learn(vocabulary, _features(f"{spec.description}\n{spec.category}"), _DESCRIPTION)
    lessons = [lesson_of(example, parameters, vocabulary) for example in spec.examples]
    taught = [lesson for lesson in lessons if lesson is not None]
    for parameter in parameters:
        meaning = str(parameter.schema.get("description") or "").replace(parameter.sample, "")
        spoken = " ".join([*name_words(parameter.name), meaning])
        _learn(vocabulary, _features(spoken), _PARAMETER)
        if parameter.kind is Kind.EXPRESSION:
            _learn(vocabulary, _features(_COMPUTE), _PARAMETER)
    own = {
        feature
        for lesson in taught
        for word in lesson.own_words()
        for feature in _features(word.text)
    }
    _learn(vocabulary, own, _EXAMPLE)
    return ToolIndex(spec.name, parameters, vocabulary, taught, has_unfillable(spec))


def _features(text: str) -> set[str]:
    features: set[str] = set()
    for word in words(fold(text[:_READ])):
        if word.kind == "run":
            features |= grams(word.text)
        elif word.kind == "word" and is_content(word):
            features.add(stem(word.text))
    return features


def _learn(vocabulary: dict[str, float], features: Iterable[str], weight: float) -> None:
    for feature in features:
        vocabulary[feature] = min(_MOST, vocabulary.get(feature, 0.0) + weight)


def left_cues(index: ToolIndex, parameter: Parameter) -> set[str]:
    """Return the words that stand before an argument in the examples."""
    cues: set[str] = set()
    for lesson in index.lessons:
        for slot in lesson.slots:
            if slot.parameter == parameter.name:
                cues.add(word_before(lesson.sentence.folded, slot.start))
    return cues - {""}
