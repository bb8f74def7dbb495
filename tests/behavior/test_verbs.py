"""Random datasets and random chains of verbs against a model in plain Python, in memory and as they are written."""

from __future__ import annotations

import hashlib
import json
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flows import plain
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.codec.images import encode_image

SCHEMA = ps.Schema(
    {
        "id": int,
        "label": ps.Feature("int64", optional=True),
        "text": str,
        "tokens": ps.Feature("uint16", (None,)),
        "image": ps.Feature("uint8", (2, 3, 3), encoding="jpeg"),
    }
)
# Encoded with other settings than those of the encoder, so that encoding them again would show.
IMAGES = [
    encode_image(np.random.default_rng(i).integers(0, 255, (2, 3, 3), np.uint8), "jpeg", quality=20) for i in range(4)
]
Model = list[dict[str, Any]]


@dataclass
class Chain:
    """A dataset, its model, and what may come next."""

    ds: ps.Dataset
    model: Model
    names: dict[str, str] = field(default_factory=lambda: {name: name for name in SCHEMA})
    """The name that each column has now."""
    has_stages: bool = False
    is_filtered: bool = False
    can_arrange: bool = True
    calls: list[str] = field(default_factory=list)

    def then(self, call: str, change: Callable[[ps.Dataset], ps.Dataset], model: Callable[[Model], Model]) -> None:
        self.ds, self.model = change(self.ds), model(self.model)
        self.calls.append(call)


rows = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(0, 99),
            "label": st.none() | st.integers(0, 2),
            "text": st.sampled_from(["", "a", "b", "a text of more than twelve bytes", "ü"]),
            "tokens": st.lists(st.integers(0, 65535), max_size=3),
            "image": st.sampled_from(IMAGES),
        }
    ),
    min_size=1,
    max_size=14,
)


def twice(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [row, {**row}]


def first_of_each(model: Model, name: str) -> Model:
    found: dict[Any, dict[str, Any]] = {}
    for row in model:
        found.setdefault(row[name], row)
    return list(found.values())


def in_first_half(number: int) -> bool:
    digest = hashlib.blake2b(b"i" + struct.pack("<q", number), digest_size=8).digest()
    return int.from_bytes(digest, "little") < 1 << 63


def add_verb(chain: Chain, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
    """Draw a verb and apply it to the dataset and to the model."""
    ids, names = chain.names["id"], chain.names
    verbs = ["rename", "drop", "select", "cast", "where", "filter", "filter columns", "take", "skip", "map", "flat_map"]
    if chain.can_arrange:
        verbs += ["sort", "unique", "split"] * 2
    verb = draw(st.sampled_from(verbs))
    role = draw(st.sampled_from(sorted(names)))
    name = names[role]
    if verb == "rename":
        new = f"new {name}" if not name.startswith("new") else role
        names[role] = new
        chain.then(
            f"rename {name}",
            lambda ds: ds.rename_columns({name: new}),
            lambda model: [{new if key == name else key: value for key, value in row.items()} for row in model],
        )
    elif verb == "drop" and role != "id":
        del names[role]
        chain.then(
            f"drop {name}",
            lambda ds: ds.drop_columns([name]),
            lambda model: [{key: value for key, value in row.items() if key != name} for row in model],
        )
    elif verb == "select":
        chosen = list(dict.fromkeys([name, ids]))
        chain.names = {key: value for key, value in names.items() if value in chosen}
        chain.then(
            f"select {chosen}",
            lambda ds: ds.select_columns(chosen),
            lambda model: [{key: row[key] for key in chosen} for row in model],
        )
    elif verb == "cast":
        chain.then("cast", lambda ds: ds.cast({ids: "uint8"}), lambda model: model)
        chain.has_stages = True
    elif verb in ("where", "filter", "filter columns"):

        def test(row: dict[str, Any]) -> bool:
            return bool(row[ids] % 3 != 1)

        filters: dict[str, Callable[[ps.Dataset], ps.Dataset]] = {
            "where": lambda ds: ds.filter(f"`{ids}` % 3 != 1" if " " in ids else f"{ids} % 3 != 1"),
            "filter": lambda ds: ds.filter(test),
            "filter columns": lambda ds: ds.filter(test, columns=[ids]),
        }
        chain.then(verb, filters[verb], lambda model: [row for row in model if test(row)])
        if verb == "filter" or chain.has_stages:
            chain.has_stages, chain.can_arrange = True, False
        else:
            chain.is_filtered = True
    elif verb in ("take", "skip"):
        count = draw(st.integers(0, 9))
        if verb == "take":
            chain.then(f"take {count}", lambda ds: ds.take(count), lambda model: model[:count])
        else:
            chain.then(f"skip {count}", lambda ds: ds.skip(count), lambda model: model[count:])
        if chain.is_filtered:
            chain.has_stages, chain.can_arrange = True, False
    elif verb == "map":
        chain.then("map", lambda ds: ds.map(dict), lambda model: model)
        chain.has_stages = True
    elif verb == "flat_map":
        chain.then(
            "flat_map", lambda ds: ds.flat_map(twice), lambda model: [copy for row in model for copy in twice(row)]
        )
        chain.has_stages, chain.can_arrange = True, False
    elif verb == "sort" and role not in ("tokens", "image"):
        by = list(dict.fromkeys([name, ids]))
        chain.then(
            f"sort {by}",
            lambda ds: ds.sort(by),
            lambda model: (
                sorted(model, key=lambda row: (row[name] is None, row[name] or type(row[ids])(), row[ids]))
                if role != "text"
                else sorted(model, key=lambda row: (row[name].encode(), row[ids]))
            ),
        )
        chain.is_filtered = False
    elif verb == "unique" and role != "tokens" and role != "image":
        chain.then(f"unique {name}", lambda ds: ds.unique(name), lambda model: first_of_each(model, name))
        chain.is_filtered = False
    elif verb == "split":
        chain.then(
            "split",
            lambda ds: ds.split({"a": 0.5, "b": 0.5}, by=ids)["a"],
            lambda model: [row for row in model if in_first_half(row[ids])],
        )
        chain.is_filtered = False


def without(row: dict[str, Any], name: str | None) -> dict[str, Any]:
    return {key: value for key, value in plain(row).items() if key != name}


@settings(max_examples=80)
@given(rows, st.integers(1, 3), st.data())
def test_a_chain_of_verbs_does_what_lists_do_and_copies_what_it_did_not_touch(
    dataset: Model, shards: int, data: st.DataObject
):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = [{**row, "unnamed": [row["id"], 300]} for row in dataset]
        ps.write(folder / "raw", raw, schema=SCHEMA | {"unnamed": ps.Feature(int, (2,))}, shards=shards, progress=False)
        chain = Chain(ps.Dataset(folder / "raw", schema=SCHEMA), list(dataset))
        for _ in range(data.draw(st.integers(1, 6))):
            add_verb(chain, data.draw)
        ds, model, image = chain.ds, chain.model, chain.names.get("image")
        expected = [without(row, image) for row in model]
        assert [without(row, image) for row in ds.epoch(0)] == expected, chain.calls
        assert sorted(ds.column_names) == sorted(chain.names.values()) or chain.has_stages

        step = data.draw(st.integers(0, len(model)))
        with iter(ds.epoch(0)) as it, iter(ds) as resumed:
            for _ in range(step):
                next(it)
            resumed.load_state_dict(json.loads(json.dumps(it.state_dict())))
            assert [without(row, image) for row in resumed] == expected[step:], chain.calls

        if model:
            ps.write(folder / "written", ds, progress=False)
            written = ps.Dataset(folder / "written")
            assert [without(row, image) for row in written] == expected, chain.calls
            if image is not None:
                stored = ps.Dataset(written.files, schema=ps.Schema({image: bytes}))
                assert [row[image] for row in stored] == [row[image] for row in model], chain.calls
            verbs = {call.split(" ")[0] for call in chain.calls}
            if verbs & {"rename", "drop"} and not chain.has_stages:
                unnamed = ps.Schema({"unnamed": ps.Feature("int64", (None,), optional=True)})
                found = [plain(row["unnamed"]) for row in ps.Dataset(written.files, schema=unnamed)]
                ids = [row[chain.names["id"]] for row in model]
                assert found == [None if "select" in verbs else [number, 300] for number in ids], chain.calls
