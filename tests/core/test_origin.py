from openjarvis.core.origin import origin_of


def test_the_type_and_the_line_are_told_and_not_the_message() -> None:
    try:
        raise ValueError("password=hunter22-secret")
    except ValueError as error:
        told = origin_of(error)

    assert told.startswith("ValueError (")
    assert told.endswith(f"{__file__}:6)")


def test_a_type_cannot_steer_the_terminal() -> None:
    assert origin_of(type("\x1b[2JError", (Exception,), {})()) == r"\x1b[2JError"
