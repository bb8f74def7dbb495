"""The header that every JSON document of Penstock starts with: its format, its version, and what it requires.

A reader accepts older versions, and keys that it does not know. It rejects a newer version, and a document that
requires an extension it does not have, because it would misread those.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

HEADER_KEYS = ("format", "version", "requires")


@dataclass(frozen=True)
class FormatHeader:
    """The header of one format.

    Args:
        noun: What a document is called in messages, such as ``"manifest"``.
        format: The value of ``"format"``.
        version: The version that is written, and the newest that is read.
        oldest: The oldest version that is read.
        extensions: The entries of ``"requires"`` that this version understands.
    """

    noun: str
    format: str
    version: int
    oldest: int = 1
    extensions: frozenset[str] = frozenset()

    def to_json(self, requires: Iterable[str] = ()) -> dict[str, Any]:
        """Return the header of a new document, with the extensions that it requires."""
        return {"format": self.format, "version": self.version, "requires": list(requires)}

    def check(self, document: object, error: type[Exception]) -> dict[str, Any]:
        """Return the document, which may be any JSON value, if this version can read it.

        Args:
            document: The parsed JSON.
            error: The exception to raise otherwise.
        """
        if not isinstance(document, dict) or document.get("format") != self.format:
            raise error(f'not a Penstock {self.noun}: expected "format": "{self.format}"')
        version = document.get("version")
        if type(version) is not int or version < 1:
            raise error(f'the "version" of a {self.noun} is a positive integer, not {str(version)[:80]}')
        if version > self.version:
            raise error(
                f"the {self.noun} has version {version}; this Penstock reads up to version {self.version}: update it"
            )
        if version < self.oldest:
            raise error(
                f"the {self.noun} has version {version}; this Penstock reads from version {self.oldest}: write it again"
            )
        requires = document.get("requires", [])
        if not isinstance(requires, list):
            raise error(f'the "requires" of a {self.noun} is an array in JSON')
        for extension in requires:
            if not isinstance(extension, str) or extension not in self.extensions:
                raise error(f"the {self.noun} requires {str(extension)[:80]!r}, which this Penstock does not know")
        return document
