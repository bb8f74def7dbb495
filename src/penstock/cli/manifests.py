"""Datasets among the paths that were given: their manifests, and the shards that these name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from penstock.cli.problems import A_FILE_IS_MISSING, COPY_ALL, Problem, is_expected, problem_of
from penstock.discovery.resolve import is_file
from penstock.errors import ManifestError
from penstock.manifest import SUFFIX, Finding, Manifest
from penstock.storage import files_below, locate, split_path

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


def manifest_of(path: str) -> str | None:
    """Return the manifest that a path names: itself, or that of the dataset that was written by this name."""
    if path.endswith(SUFFIX):
        return path
    store, name = locate(path)
    try:
        store.stat(name)
    except FileNotFoundError:
        return path + SUFFIX if is_file(path + SUFFIX) else None
    except OSError:
        return None
    return None


def shards_of(manifest: str) -> list[str]:
    """Return the shards that a manifest names, whether or not they are there."""
    folder, _ = split_path(manifest)
    return [folder + shard.name for shard in Manifest.load(manifest).shards]


def with_shards(paths: Iterable[str]) -> list[str]:
    """Return the paths with the shards of a dataset that are there in the place of its name or its manifest."""
    named = [(path, manifest_of(path)) for path in paths]
    return [file for path, manifest in named for file in ([path] if manifest is None else _shards(manifest))]


def find_manifests(paths: Iterable[str]) -> list[str]:
    """Return the manifests that are named, and those in the directories that are."""
    found: list[str] = []
    for path in paths:
        if named := manifest_of(path):
            found.append(named)
            continue
        store, name = locate(path)
        try:
            store.stat(name)
        except IsADirectoryError:
            with suppress(OSError):  # what cannot be looked into is reported elsewhere
                below = files_below(store, name, lambda error: None)
                found += [entry for entry in below if entry.endswith(SUFFIX)]
        except OSError:
            # Object stores have no directories, only names that begin alike; what is not there is reported elsewhere.
            if "://" in name:
                with suppress(OSError):  # nor a bucket, perhaps
                    found += [entry for entry in store.list(name) if entry.endswith(SUFFIX)]
    return found


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


def _shards(path: str) -> list[str]:
    """Return the shards that are there; the check of the manifest reports the others, and what is wrong with it."""
    store, _ = locate(path)
    try:
        files = shards_of(path)
    except (OSError, ManifestError):
        return []
    there = []
    for file in files:
        try:
            store.stat(file)
        except OSError:
            continue
        there.append(file)
    return there


def _problem(folder: str, finding: Finding) -> Problem:
    advice, case = _ADVICE[finding.kind]
    return Problem(folder + finding.shard, f"manifest-{finding.kind}", finding.message, advice, case=case)
