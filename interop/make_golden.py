"""Makes the files in golden/ with TensorFlow:  .venv/bin/python interop/make_golden.py

They are read by the ordinary tests, which have no TensorFlow. Make them again only to add one: that old files stay
readable is what they are for.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from oracle import Oracle

GOLDEN = Path(__file__).parent / "golden"

# An empty record, a short one, all bytes, one that compresses, and the Example {"label": [7], "name": ["seven"]}.
RECORDS = [
    b"",
    b"abc",
    bytes(range(256)),
    b"penstock " * 500,
    bytes.fromhex("0a230a0e0a056c6162656c12051a030a01070a110a046e616d6512090a070a05736576656e"),
]


def main() -> None:
    oracle = Oracle()
    GOLDEN.mkdir(exist_ok=True)
    for compression in ("", "GZIP", "ZLIB", "SNAPPY"):
        name = compression.lower() or "plain"
        for suffix, records in (("", RECORDS), ("-empty", [])):
            (file,) = oracle.write((records, compression))
            (GOLDEN / f"tensorflow-2.21-{name}{suffix}.tfrecord").write_bytes(file)
    records = [base64.b64encode(record).decode() for record in RECORDS]
    (GOLDEN / "records.json").write_text(json.dumps(records, indent=1) + "\n")
    oracle.close()


if __name__ == "__main__":
    main()
