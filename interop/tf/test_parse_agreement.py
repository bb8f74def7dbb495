"""Random feature descriptions and records: parsed to the same values, dtypes and shapes, or both raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import Oracle
from tf.expressions import REFUSED, evaluate, same
from tf.parse_cases import Case, example_cases, sequence_cases

import penstock.tf

BLOCK = 1000


@pytest.mark.parametrize("cases", [example_cases, sequence_cases])
def test_random_records_are_parsed_as_tensorflow_parses_them(oracle: Oracle, cases: Any) -> None:
    made: list[Case] = list(cases(1, BLOCK))
    expressions = [(case.source, {"records": _strings(case.records)}) for case in made]
    refused = 0
    for case, (source, names), theirs in zip(made, expressions, oracle.evaluate(*expressions), strict=True):
        ours = evaluate(penstock.tf, source, names)
        assert same(ours, theirs), f"{case}\n{ours}\n{theirs}"
        refused += theirs is REFUSED or theirs == REFUSED
    assert BLOCK / 50 < refused < BLOCK / 2


def _strings(records: list[bytes]) -> np.ndarray:
    array = np.empty(len(records), object)
    array[:] = records
    return array
