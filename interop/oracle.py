"""The client of :mod:`tensorflow_oracle`: starts it in TensorFlow's environment and asks it questions."""

from __future__ import annotations

import pickle
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venvs/tensorflow/bin/python"

Reader = Literal["dataset", "iterator"]


@dataclass(frozen=True)
class Outcome:
    """What a reader got out of a file, and the name of the error that stopped it."""

    records: list[bytes]
    error: str | None


class Oracle:
    """TensorFlow in a process of its own."""

    def __init__(self) -> None:
        if not PYTHON.exists():
            raise FileNotFoundError(f"{PYTHON} is missing; these tests are run by  make interop, which builds it")
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (open as long as the process)
        self._process = subprocess.Popen(
            [PYTHON, "-W", "ignore", Path(__file__).with_name("tensorflow_oracle.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def version(self) -> str:
        return str(self._ask("version"))

    def write(self, *cases: tuple[list[bytes], str]) -> list[bytes]:
        """Let TensorFlow write lists of records, each with a compression; return the files."""
        files: list[bytes] = self._ask("write", list(cases))
        return files

    def read(self, *cases: tuple[bytes, str], reader: Reader) -> list[Outcome]:
        """Let TensorFlow read files, each with a compression."""
        return [Outcome(records, error) for records, error in self._ask("read", list(cases), reader)]

    def serialize_tensors(self, *arrays: NDArray[Any]) -> list[bytes]:
        """Let TensorFlow serialize arrays."""
        messages: list[bytes] = self._ask("serialize_tensors", list(arrays))
        return messages

    def parse_tensors(self, *cases: tuple[bytes, str]) -> list[NDArray[Any] | None]:
        """Let TensorFlow parse messages, each as a dtype; None where it refuses."""
        arrays: list[NDArray[Any] | None] = self._ask("parse_tensors", list(cases))
        return arrays

    def decode_images(self, *cases: tuple[bytes, int, str]) -> list[NDArray[Any] | None]:
        """Let TensorFlow decode images, each to a number of channels and a dtype; None where it refuses."""
        arrays: list[NDArray[Any] | None] = self._ask("decode_images", list(cases))
        return arrays

    def decode_jpegs(self, *cases: tuple[bytes, dict[str, Any]]) -> list[NDArray[Any] | None]:
        """Let TensorFlow decode JPEG images, each with options; None where it refuses."""
        arrays: list[NDArray[Any] | None] = self._ask("decode_jpegs", list(cases))
        return arrays

    def resize(self, *cases: tuple[NDArray[Any], tuple[int, int]]) -> list[NDArray[Any]]:
        """Let TensorFlow resize images, each to a height and a width."""
        arrays: list[NDArray[Any]] = self._ask("resize", list(cases))
        return arrays

    def read_messages(self, messages: list[bytes], *, sequence_example: bool) -> list[Any]:
        """Let protobuf read messages: ``(context, feature lists)`` of each, or None where it refuses."""
        contents: list[Any] = self._ask("read_messages", messages, sequence_example)
        return contents

    def parse_examples(self, *cases: tuple[str, list[bytes], bool]) -> list[Any]:
        """Let TensorFlow parse lists of records, each by the source text of a feature description and as Examples or,
        where True, SequenceExamples: ``(tensors, lengths)`` of each, or None where it refuses."""
        parsed: list[Any] = self._ask("parse_examples", list(cases))
        return parsed

    def evaluate(self, *cases: tuple[str, dict[str, Any]]) -> list[Any]:
        """Let TensorFlow evaluate expressions in ``tf``, each with the values of its names (see expressions.py)."""
        values: list[Any] = self._ask("evaluate", list(cases))
        return values

    def _ask(self, name: str, *arguments: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump((name, arguments), self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (EOFError, OSError) as error:
            self._log.seek(0)
            raise RuntimeError(f"the TensorFlow process died:\n{self._log.read()[-4000:]}") from error

    def close(self) -> None:
        self._process.communicate()  # closes its input, which ends it
        self._log.close()
