import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Event, Thread
from types import ModuleType

import pytest

from openjarvis.core import registry
from openjarvis.core.registry import (
    AgentRegistry,
    EngineRegistry,
    MemoryRegistry,
    ModelRegistry,
    Registry,
    ToolRegistry,
)

ALL = [ToolRegistry, AgentRegistry, EngineRegistry, ModelRegistry, MemoryRegistry]


@pytest.fixture
def shelf() -> type[Registry]:
    class ShelfRegistry(Registry):
        pass

    return ShelfRegistry


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return an imported module `shop` that holds the class `Lamp`."""
    module = ModuleType("shop")
    exec("class Lamp: pass", module.__dict__)
    monkeypatch.setitem(sys.modules, "shop", module)
    return module


def test_a_decorated_class_is_registered_and_stays_itself(shelf: type[Registry]) -> None:
    class Book:
        pass

    decorated = shelf.register("book")(Book)

    assert decorated is Book
    assert shelf.get("book") is Book


def test_a_value_of_any_kind_can_be_registered(shelf: type[Registry]) -> None:
    shelf.register_value("none", None)

    assert shelf.get("none") is None
    assert shelf.contains("none")


def test_a_duplicate_key_is_refused_and_the_first_entry_stays(shelf: type[Registry]) -> None:
    shelf.register_value("book", 1)

    with pytest.raises(ValueError, match="ShelfRegistry already has an entry for 'book'"):
        shelf.register_value("book", 2)

    assert shelf.get("book") == 1


def test_an_unknown_key_is_a_key_error_that_names_the_nearest(shelf: type[Registry]) -> None:
    shelf.register_value("calculator", 1)

    with pytest.raises(KeyError) as caught:
        shelf.get("calculater")

    assert "ShelfRegistry does not have an entry for 'calculater'" in str(caught.value)
    assert "did you mean 'calculator'?" in str(caught.value)


def test_an_unknown_key_with_nothing_near_is_only_named(shelf: type[Registry]) -> None:
    with pytest.raises(KeyError) as caught:
        shelf.get("x")

    assert caught.value.args == ("ShelfRegistry does not have an entry for 'x'",)


def test_create_calls_the_entry_with_the_arguments(shelf: type[Registry]) -> None:
    shelf.register_value("dict", dict)

    assert shelf.create("dict", [("a", 1)], b=2) == {"a": 1, "b": 2}


def test_create_of_something_that_cannot_be_called_is_a_type_error(shelf: type[Registry]) -> None:
    shelf.register_value("number", 3)

    with pytest.raises(TypeError, match="entry 'number' is not callable"):
        shelf.create("number")


def test_create_of_an_unknown_key_is_a_key_error(shelf: type[Registry]) -> None:
    with pytest.raises(KeyError, match="does not have an entry"):
        shelf.create("nothing")


def test_keys_and_items_are_tuples_in_the_order_of_registration(shelf: type[Registry]) -> None:
    for key in ("b", "a", "c"):
        shelf.register_value(key, key.upper())

    assert shelf.keys() == ("b", "a", "c")
    assert shelf.items() == (("b", "B"), ("a", "A"), ("c", "C"))


def test_a_cleared_registry_is_empty(shelf: type[Registry]) -> None:
    shelf.register_value("a", 1)

    shelf.clear()

    assert (shelf.keys(), shelf.items(), shelf.contains("a")) == ((), (), False)


@pytest.mark.parametrize("kept", ALL)
def test_registries_do_not_see_each_others_entries(kept: type[Registry]) -> None:
    with kept.isolated():
        kept.register_value("only-here", kept)

        assert [one for one in ALL if one.contains("only-here")] == [kept]


def test_what_is_done_in_isolation_is_undone(shelf: type[Registry]) -> None:
    shelf.register_value("a", 1)

    with shelf.isolated():
        shelf.clear()
        shelf.register_value("b", 2)

    assert shelf.items() == (("a", 1),)


def test_isolation_is_undone_when_its_block_raises(shelf: type[Registry]) -> None:
    def fail_inside() -> None:
        with shelf.isolated():
            shelf.register_value("b", 2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()

    assert shelf.keys() == ()


@pytest.mark.parametrize("key", [None, 3, b"tool"])
def test_a_key_that_is_no_text_is_refused(shelf: type[Registry], key: object) -> None:
    with pytest.raises(TypeError, match="the key must be text"):
        shelf.register_value(key, 1)  # type: ignore[arg-type]

    assert shelf.keys() == ()


def test_a_decorator_without_its_key_is_refused_where_it_stands(shelf: type[Registry]) -> None:
    with pytest.raises(TypeError, match=r'write @ShelfRegistry\.register\("key"\)'):

        @shelf.register  # type: ignore[arg-type]
        class Book:
            pass


def test_a_lazy_entry_is_listed_without_being_imported(shelf: type[Registry]) -> None:
    shelf.register_lazy("lamp", "no.such.module", "Lamp")

    assert shelf.keys() == ("lamp",)
    assert shelf.contains("lamp")


@pytest.mark.usefixtures("shop")
def test_a_lazy_entry_is_imported_when_it_is_asked_for(shelf: type[Registry]) -> None:
    shelf.register_lazy("lamp", "shop", "Lamp")

    assert shelf.get("lamp").__name__ == "Lamp"
    assert shelf.items() == (("lamp", shelf.get("lamp")),)
    assert type(shelf.create("lamp")) is shelf.get("lamp")


def test_a_class_that_was_announced_may_register_itself(
    shelf: type[Registry], shop: ModuleType
) -> None:
    shelf.register_lazy("lamp", "shop", "Lamp")

    shelf.register("lamp")(shop.Lamp)

    assert shelf.get("lamp") is shop.Lamp


def test_another_class_cannot_take_a_key_that_was_announced(shelf: type[Registry]) -> None:
    shelf.register_lazy("lamp", "shop", "Lamp")

    with pytest.raises(ValueError, match="already has an entry for 'lamp'"):
        shelf.register("lamp")(type("Lamp", (), {}))


def test_an_announcement_does_not_replace_what_is_there(
    shelf: type[Registry], shop: ModuleType
) -> None:
    shelf.register_value("lamp", "mine")

    shelf.register_lazy("lamp", "shop", "Lamp")

    assert shelf.get("lamp") == "mine"


def test_one_of_many_threads_that_register_a_key_wins(shelf: type[Registry]) -> None:
    threads = 8
    ready = Barrier(threads)
    outcomes: list[str] = []

    def work(number: int) -> None:
        ready.wait()
        try:
            shelf.register_value("key", number)
        except ValueError:
            outcomes.append("refused")
        else:
            outcomes.append("registered")

    workers = [Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert sorted(outcomes) == ["refused"] * (threads - 1) + ["registered"]


def test_items_can_be_read_while_another_thread_clears(shelf: type[Registry]) -> None:
    ready = Barrier(2)
    sizes: set[int] = set()

    def fill_and_clear() -> None:
        ready.wait()
        for _ in range(300):
            for key in "abc":
                shelf.register_value(key, key)
            shelf.clear()

    other = Thread(target=fill_and_clear)
    other.start()
    ready.wait()
    while other.is_alive():
        sizes.add(len(shelf.items()))
    other.join()

    assert sizes <= {0, 1, 2, 3}


def test_a_module_that_registers_itself_while_another_thread_asks_for_it_blocks_nobody(
    shelf: type[Registry], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halfway, asked = Event(), Event()
    stage = ModuleType("stage")
    stage.__dict__.update(halfway=halfway, asked=asked, shelf=shelf)
    monkeypatch.setitem(sys.modules, "stage", stage)
    (tmp_path / "slow_lamp.py").write_text(
        "import stage\n"
        "stage.halfway.set()\n"
        "assert stage.asked.wait(5)\n"
        "@stage.shelf.register('lamp')\n"
        "class Lamp: pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    shelf.register_lazy("lamp", "slow_lamp", "Lamp")
    real_import = registry.import_module

    def announced_import(name: str) -> ModuleType:
        asked.set()
        return real_import(name)

    importing = Thread(target=real_import, args=("slow_lamp",), daemon=True)
    importing.start()
    assert halfway.wait(5)
    monkeypatch.setattr(registry, "import_module", announced_import)
    asking = Thread(target=shelf.get, args=("lamp",), daemon=True)
    asking.start()
    asking.join(5)
    importing.join(5)

    assert (asking.is_alive(), importing.is_alive()) == (False, False)
    assert shelf.get("lamp") is sys.modules.pop("slow_lamp").Lamp
