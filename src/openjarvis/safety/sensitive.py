"""Which files hold keys and passwords, told by their names."""

import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase

_FILES = (
    ".env*", "*.env", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".npmrc", ".pypirc",
    ".dockercfg", ".git-credentials", ".*_history", "credentials*", ".credentials*",
    "client_secret*", "secrets.*", "id_*", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks",
    "*.keystore", "*.kdbx", "shadow", "gshadow",
)  # fmt: skip
_DIRECTORIES = (".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker")


def is_sensitive(parts: Sequence[str]) -> bool:
    """Tell whether a path, given by its components, holds keys or passwords.

    Names are compared as any file system may: without case, and without what some ignore in them.
    """
    names = [_folded(part) for part in parts]
    if not names:
        return False
    without_stream = names[-1].partition(":")[0].rstrip(". ")  # "a.pem::$DATA" is a.pem on Windows
    return any(name in _DIRECTORIES for name in names) or any(
        fnmatchcase(name, pattern) for name in {names[-1], without_stream} for pattern in _FILES
    )


def _folded(name: str) -> str:
    compatible = unicodedata.normalize("NFKC", name)
    visible = "".join(letter for letter in compatible if unicodedata.category(letter) != "Cf")
    return visible.casefold().rstrip(". ")  # Windows drops both at the end
