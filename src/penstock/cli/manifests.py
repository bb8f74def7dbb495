"""Compares datasets with their manifests."""

from __future__ import annotations

from penstock.cli.problems import A_FILE_IS_MISSING, COPY_ALL, Problem, is_expected, problem_of
from penstock.manifest import Finding, Manifest
from penstock.storage import split_path

# By the kind of a finding: what to do, and where.
_ADVICE = {
    "missing": (COPY_ALL, A_FILE_IS_MISSING),
    "appended": (
        "wait for the writer; if it was killed, RecordWriter(FILE, append=True).close() mends the manifest",
        "a writer appends to a file",
    ),
    "size": ("it was cut short or written anew; copy the dataset again", "a file has another size"),
    "checksum": ("it is not the one that was written; copy the dataset again", "a file has another checksum"),
    "extra": (
        "it is left from another dataset of the same name; remove it, or readers may take it for a part of this",
        "there is a file too many",
    ),
}


def problems_of_manifest(path: str) -> list[Problem]:
    """Compare a dataset with its manifest."""
    folder, _ = split_path(path)
    try:
        findings = Manifest.load(path).verify(folder or ".")
    except Exception as error:
        if not is_expected(path, error):
            raise
        return [problem_of(path, error)]
    return [_problem(folder, finding) for finding in findings]


def _problem(folder: str, finding: Finding) -> Problem:
    advice, case = _ADVICE[finding.kind]
    return Problem(folder + finding.shard, f"manifest-{finding.kind}", finding.message, advice, case=case)
