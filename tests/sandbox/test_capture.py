import os

from openjarvis.sandbox.capture import Capture


def test_it_takes_nothing_from_a_stream_that_was_given_the_number_of_a_closed_one() -> None:
    mine, write_end = os.pipe()
    pipe = os.fdopen(mine, "rb", buffering=0)
    capture = Capture(pipe, keep=100)
    pipe.close()
    theirs, their_end = os.pipe()
    assert theirs == mine
    os.write(their_end, b"a secret")

    capture.read()

    assert not capture.is_open
    assert capture.take() == ("", False)
    for number in (write_end, theirs, their_end):
        os.close(number)


def test_it_keeps_the_beginning_and_counts_the_rest() -> None:
    mine, write_end = os.pipe()
    with (
        os.fdopen(mine, "rb", buffering=0) as pipe,
        os.fdopen(write_end, "wb", buffering=0) as writer,
    ):
        capture = Capture(pipe, keep=4)
        capture.read()
        writer.write(b"123456")

        capture.drain()

    assert capture.total == 6
    assert capture.take() == ("1234", True)
