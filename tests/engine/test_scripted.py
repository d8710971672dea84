from typing import Any

import pytest

from openjarvis.testing import ScriptedEngine, says


@pytest.mark.parametrize("script", ["Hello.", b"Hello.", ["Hello."], says("Hello."), 3, None])
def test_a_script_that_is_no_list_of_turns_is_refused_with_an_example(script: Any) -> None:
    with pytest.raises(TypeError, match=r'ScriptedEngine\(\[says\("…"\)\]\)'):
        ScriptedEngine(script)
