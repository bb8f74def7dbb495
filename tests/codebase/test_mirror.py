"""Tests mirror the source: a module is tested in the file of its name."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

# Internal modules that are tested through those that use them; frameworks are tested in interop/training,
# engines in interop/engines.
TESTED_THROUGH_OTHERS = {
    "": "arguments beam protobuf ray spark",
    "cli": "display options problem_advice",
    "codec": "decode_blobs encode_columns encode_rows",
    "columns": "column stored_column",
    "compression": "byte_source resync",
    "conversion": "table_stream text_tables",
    "dataset": "block read_rows stage stored_rows",
    "dataset/source": "filter_rows pick_records row_source",
    "engines": "arrow_scan spark_types",
    "discovery": "infer sidecars splits",
    "expression": "tree",
    "frameworks": "jax keras tensorflow torch torch_images",
    "index": "array_record build file_identity gzip_members shard_index",
    "inspect": "diff_report",
    "integrity": "report",
    "schema": "arrow_metadata connector default dtype logical recognize_bytes",
    "storage": "store",
    "tf": "image math tensorflow_dispatch tensorflow_fallback",
    "tf/compat/v1": "operations",
    "tf/data": "keras_feed node",
    "tf/io": "image_formats parse_plan",
    "tf/ops": "batch_and_spec_rules philox random_state resize",
    "tf/tensors": "batch_values sparse_tensor structure",
    "writing": "destination hidden_files hugging_face image_features layout shard_writer write_mapped writer",
}


def untested_modules() -> dict[str, str]:
    """Return the modules without a test file of their name, by room."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src/penstock").rglob("*.py")):
        module = path.relative_to(ROOT / "src/penstock")
        if not path.name.startswith("__") and not (ROOT / "tests" / module.parent / f"test_{path.name}").exists():
            found.setdefault(module.parent.as_posix().removeprefix("."), []).append(path.stem)
    return {room: " ".join(names) for room, names in found.items()}


def test_every_module_has_a_test_of_its_name_or_is_listed():
    assert untested_modules() == TESTED_THROUGH_OTHERS
