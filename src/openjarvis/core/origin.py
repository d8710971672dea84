"""Where an exception of foreign code came from, for logs that must not repeat what it says."""


def origin_of(error: BaseException) -> str:
    """Return the type of `error` and the line that raised it.

    Not its message: that may hold a secret, or steer a terminal.
    """
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    # As `repr` writes it, no character is left that a terminal would obey.
    return repr(type(error).__name__ + place)[1:-1]
