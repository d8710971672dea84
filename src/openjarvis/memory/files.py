"""Which files of a folder are worth storing, and their bytes, read without falling into a trap."""

import errno
import logging
import os
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pathspec import GitIgnoreSpec

from openjarvis.safety.opening import NotRegular, open_regular
from openjarvis.safety.sensitive import is_sensitive

MAX_BYTES = 10_000_000
"""Larger files are skipped."""

_MACHINE_MADE = {"node_modules", "__pycache__", "site-packages", "bower_components"}
_SYSTEM_TREES = {"/dev", "/proc", "/sys"}
_IGNORE_FILE = ".gitignore"
_WILDCARDS = re.compile(r"\*+")
# With each wildcard more, a rule may take a hundred times longer to fit a hostile name.
_MOST_WILDCARDS = 3

_log = logging.getLogger("openjarvis.memory")


class Skip(StrEnum):
    """Why a file or folder is not stored."""

    HIDDEN = "hidden"
    MACHINE_MADE = "machine-made folder"
    IGNORED = "ignored by .gitignore"
    LINK = "link"
    SPECIAL = "not a regular file"
    SENSITIVE = "sensitive"
    TOO_LARGE = "too large"
    BINARY = "binary"
    ENCODING = "unknown encoding"
    DAMAGED = "damaged"
    NEEDS_EXTRA = "needs the extra 'documents'"
    UNREADABLE = "unreadable"


class SkippedFile(Exception):
    """A file that is passed over, and why."""

    def __init__(self, reason: Skip) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Listing:
    """The files found at a path; `skipped` counts what was passed over, by reason.

    `unread` holds folders that could not be looked into: of what is in them nothing is known.
    """

    files: list[Path] = field(default_factory=list)
    skipped: Counter[Skip] = field(default_factory=Counter)
    unread: list[Path] = field(default_factory=list)


def list_files(root: Path) -> Listing:
    """Return the files at or below `root`, in a steady order.

    A file that is named itself is taken although a folder's rules would pass it over.
    """
    listing = Listing()
    if root.is_dir():
        _list_folder(root, listing, _rules_above(root))
    else:
        listing.files.append(root)
    return listing


def read_file(base: Path, path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """Return what the file `path`, somewhere below `base`, holds; no link on the way is followed.

    Raises:
        SkippedFile: when it is sensitive, a link, no regular file, too large or not readable.
    """
    if is_sensitive(path.parts):
        raise SkippedFile(Skip.SENSITIVE)
    try:
        with os.fdopen(open_regular(base, path.relative_to(base).parts), "rb") as file:
            content = file.read(limit + 1)
    except NotRegular as exc:
        raise SkippedFile(Skip.SPECIAL) from exc
    except OSError as exc:
        raise SkippedFile(Skip.LINK if exc.errno == errno.ELOOP else Skip.UNREADABLE) from exc
    if len(content) > limit:
        raise SkippedFile(Skip.TOO_LARGE)
    return content


@dataclass(frozen=True, slots=True)
class _Rules:
    """What the `.gitignore` of a folder says, and of the folders around it."""

    folder: Path
    spec: GitIgnoreSpec
    around: "_Rules | None"

    def ignore(self, path: Path, *, is_folder: bool) -> bool:
        relative = path.relative_to(self.folder).as_posix() + ("/" if is_folder else "")
        verdict = self.spec.check_file(relative).include
        if verdict is None:
            return self.around is not None and self.around.ignore(path, is_folder=is_folder)
        return verdict


def _rules_above(folder: Path) -> _Rules | None:
    """Return the rules of the repository around `folder`, down to its parent."""
    around = [folder, *folder.parents]
    top = next((n for n, place in enumerate(around) if (place / ".git").exists()), 0)
    rules: _Rules | None = None
    for place in reversed(around[1 : top + 1]):
        rules = _rules_of(place, rules)
    return rules


def _rules_of(folder: Path, around: _Rules | None) -> _Rules | None:
    try:
        text = read_file(folder, folder / _IGNORE_FILE).decode(errors="replace")
    except SkippedFile:
        return around
    with warnings.catch_warnings():
        # A rule such as `[[:alpha:]]` makes the regex engine wonder.
        warnings.simplefilter("ignore", FutureWarning)
        spec = GitIgnoreSpec.from_lines(filter(_is_usable, text.splitlines()))
    return _Rules(folder, spec, around)


def _is_usable(rule: str) -> bool:
    """Tell whether a line of a `.gitignore` can be applied, in a time worth waiting for."""
    if len(_WILDCARDS.findall(rule)) > _MOST_WILDCARDS:
        _log.warning("An ignore rule has too many wildcards and is left out: %.100r", rule)
        return False
    try:
        GitIgnoreSpec.from_lines([rule])
    except (ValueError, re.error):  # git passes over such lines too
        return False
    return True


def _list_folder(folder: Path, listing: Listing, around: _Rules | None) -> None:
    pending = [(folder, around)]
    while pending:
        folder, around = pending.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            listing.skipped[Skip.UNREADABLE] += 1
            listing.unread.append(folder)
            continue
        rules = _rules_of(folder, around)
        folders: list[Path] = []
        for entry in entries:
            reason = _reason_to_skip(entry, rules)
            if reason is not None:
                listing.skipped[reason] += 1
            elif entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            else:
                listing.files.append(Path(entry.path))
        pending += [(path, rules) for path in reversed(folders)]


def _reason_to_skip(entry: os.DirEntry[str], rules: _Rules | None) -> Skip | None:
    is_folder = entry.is_dir(follow_symlinks=False)
    if entry.is_symlink():
        return Skip.LINK
    if entry.name.startswith("."):
        return Skip.HIDDEN
    if is_folder and entry.name in _MACHINE_MADE:
        return Skip.MACHINE_MADE
    if rules is not None and rules.ignore(Path(entry.path), is_folder=is_folder):
        return Skip.IGNORED
    if entry.path in _SYSTEM_TREES:
        return Skip.SPECIAL
    if not is_folder and not entry.is_file(follow_symlinks=False):
        return Skip.SPECIAL
    return None
