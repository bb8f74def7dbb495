"""WebDataset tars become rows, byte for byte; damaged and hostile ones are errors."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import png_files
import pytest

import penstock as ps

PICTURE = png_files.png(3, 2, bytes(6))


def tar(members: list[tuple[str, bytes]]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


SAMPLES = [
    ("x/001.png", PICTURE),
    ("x/001.cls", b"3\n"),
    ("x/001.json", b'{"a":  1}'),
    ("x/002.png", PICTURE),
    ("x/002.cls", b"4"),
    ("x/002.state.pkl", b"\x80\x04cos\nsystem\n."),
]


def test_members_of_a_sample_are_the_columns_of_a_row(folder: Path):
    (folder / "a-0.tar").write_bytes(tar(SAMPLES[:3]))
    (folder / "a-1.tar.gz").write_bytes(gzip.compress(tar(SAMPLES[3:])))
    assert ps.convert("a-*.tar*", "data/a").records == 2
    assert ps.Dataset("data/a").schema == ps.Schema(
        {
            "__key__": str,
            "png": ps.Feature("uint8", (2, 3, 1), encoding="png"),
            "cls": int,
            "json": ps.Feature(str, optional=True),
            "state.pkl": ps.Feature(bytes, optional=True),
        }
    )
    ds = ps.Dataset("data/a", schema=ps.Dataset("data/a").schema | {"png": ps.Feature(bytes)})
    assert list(ds) == [
        {"__key__": "x/001", "png": PICTURE, "cls": 3, "json": '{"a":  1}', "state.pkl": None},
        {"__key__": "x/002", "png": PICTURE, "cls": 4, "json": None, "state.pkl": SAMPLES[-1][1]},
    ]


@pytest.mark.parametrize("compressed", [False, True])
def test_every_cut_and_many_flips_are_errors_or_rows(folder: Path, compressed: bool):
    whole = gzip.compress(tar(SAMPLES), mtime=0) if compressed else tar(SAMPLES)[:6144]
    for cut in range(1, len(whole), 97 if compressed else 509):
        (folder / "a.tar").write_bytes(whole[:cut])
        _convert_or_raise(folder)
    for place in range(0, len(whole), 11 if compressed else 41):
        damaged = bytearray(whole)
        damaged[place] ^= 0x40
        (folder / "a.tar").write_bytes(damaged)
        _convert_or_raise(folder)


def _convert_or_raise(folder: Path) -> None:
    try:
        ps.convert("a.tar", "out", replace=True)
    except ps.PenstockError as error:
        assert str(error)


def test_a_member_that_claims_too_much_raises(folder: Path):
    header = bytearray(tar([("x.bin", b"1")])[:512])
    header[124:136] = b"77777777777\0"
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    (folder / "a.tar").write_bytes(header)
    with pytest.raises(ps.RecordTooLargeError, match=r"x\.bin"):
        ps.convert("a.tar", "out")
    header[156:157] = b"x"  # a header of names, which is read whole
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    (folder / "a.tar").write_bytes(header)
    with pytest.raises(ps.CorruptDataError, match="claims"):
        ps.convert("a.tar", "out")


@pytest.mark.parametrize(
    "headers",
    [
        {"GNU.sparse.map": "a,b"},
        {"GNU.sparse.map": "-5,5", "GNU.sparse.realsize": "1"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1"},
        {"size": "-5"},
        {"size": "-1536"},
        {"size": "9" * 30},
    ],
)
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, b"Z"])
def test_numbers_in_headers_that_cannot_be_are_errors_of_the_file(folder: Path, headers: dict[str, str], kind: bytes):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.bin")
        member.size, member.type, member.pax_headers = 1, kind, headers
        archive.addfile(member, io.BytesIO(b"x"))
    (folder / "a.tar").write_bytes(file.getvalue())
    with pytest.raises(ps.PenstockError) as raised:
        ps.convert("a.tar", "out")
    assert "a.tar" in str(getattr(raised.value, "path", raised.value))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("a.cls", b"cat")], "expected an integer of 64 bits in a.cls"),
        ([("a.cls", b"9" * 20)], "expected an integer of 64 bits in a.cls"),
        ([("a.__key__", b"b"), ("a.txt", b"1")], "rename the member 'a.__key__'"),
        ([("a.\udcff", b"1")], "not UTF-8"),
        ([("a.txt", b"\xff")], "expected text in UTF-8 in a.txt"),
        ([("a.txt", b"1"), ("a.txt", b"2")], "two members are 'a.txt'"),
        ([], "holds no files"),
    ],
)
def test_samples_that_do_not_fit_raise(folder: Path, members: list[tuple[str, bytes]], message: str):
    (folder / "a.tar").write_bytes(tar(members))
    with pytest.raises(ps.PenstockError, match=message):
        ps.convert("a.tar", "out")
