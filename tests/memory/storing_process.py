"""A process for the tests: stores one text after the other and says each id once it has it.

    python storing_process.py DATABASE NAME [COUNT]

Every tenth step replaces a file of two chunks, so that a kill may hit that too.
"""

import sys
from itertools import count

from openjarvis.memory import Document
from openjarvis.memory.sqlite import SQLiteMemory


def main(path: str, name: str, steps: str = "") -> None:
    with SQLiteMemory(path) as memory:
        for number in range(int(steps)) if steps else count():
            if number % 10 == 9:
                pieces = [Document(f"{name} file part {number}"), Document("second part")]
                memory.replace_file(f"/{name}", str(number), pieces)
            print(memory.store(f"{name} entry {number} ชา 会议"), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
