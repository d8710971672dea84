import logging

import pytest

from openjarvis.toolkit.docstring import parse_sections


def test_the_text_around_the_parameters_is_the_description() -> None:
    text = "Pay a bill.\n\nArgs:\n    amount: In euros.\n\nCall it once."

    description, meanings = parse_sections(text, "google")

    assert description == "Pay a bill.\n\nCall it once."
    assert meanings == {"amount": "In euros."}


def test_a_parameter_of_no_known_type_is_no_matter_for_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        parse_sections("Pay.\n\nArgs:\n    amount: In euros.\n    broken", "google")

    assert caplog.records == []
