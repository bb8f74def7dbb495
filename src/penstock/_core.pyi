"""
The native core of Penstock: frames, checksums, and reading ahead on threads.
"""

from collections.abc import Callable, Iterator, Sequence
import os
from typing import Annotated, Any, overload

import numpy
import numpy.typing
from numpy.typing import NDArray
from typing_extensions import Buffer


def arrow_schema(node: object) -> object:
    """Export a tree of nodes as an ``arrow_schema`` capsule."""

def arrow_array(node: object) -> object:
    """
    Export a tree of nodes as an ``arrow_array`` capsule, which holds the nodes' buffers.
    """

def arrow_stream(node: object) -> object:
    """
    Export a tree of nodes as an ``arrow_array_stream`` capsule of one array.
    """

def begin_to_end() -> None:
    """
    Called where the interpreter is about to end, on the thread that ends it.
    """

def crc32c_kernels() -> list[str]:
    """
    Names of the CRC32C kernels that this CPU can run, the one in use first.
    """

def crc32c(data: object, crc: int = 0, kernel: str | None = None) -> int:
    """CRC32C of a bytes-like object, continuing from ``crc``."""

def mask_crc(crc: int) -> int:
    """Mask a checksum as TFRecord stores it."""

def views_to_list(views: object, buffers: tuple[object, ...], text: bool) -> list[Any]:
    """The values of views as bytes, or as str where ``text``."""

def check_views(views: object, buffers: tuple[object, ...], text: bool) -> None:
    """
    Raise where a view points outside the buffers or, where ``text``, at what is not UTF-8.
    """

def compact_views(views: object, buffers: tuple[object, ...]) -> tuple[numpy.typing.NDArray[numpy.int32], tuple[numpy.typing.NDArray[numpy.uint8], ...]]:
    """
    Copy the values of views together; answer new views and the buffers, one for every 2 GiB.
    """

@overload
def offsets_to_views(offsets: numpy.typing.NDArray[numpy.int32], data: object) -> tuple[numpy.typing.NDArray[numpy.int32], list[int]]: ...

@overload
def offsets_to_views(offsets: numpy.typing.NDArray[numpy.int64], data: object) -> tuple[numpy.typing.NDArray[numpy.int32], list[int]]:
    """
    Views of data[offsets[i]:offsets[i + 1]], and where each 2 GiB window that they look through begins.
    """

def crc32_kernels() -> list[str]:
    """
    Names of the CRC-32 kernels that this CPU can run, the one in use first.
    """

def crc32(data: object, crc: int = 0, kernel: str | None = None) -> int:
    """CRC-32 (that of gzip) of a bytes-like object, continuing from ``crc``."""

class PlainPiece(Buffer):
    """
    A piece of an inflated stream: bytes that StreamRecords takes without a copy.
    """

    def __len__(self) -> int: ...

class MemberQueue:
    """Inflates gzip members on native threads, two in turns on each."""

    def __init__(self, *, threads: int, most: int) -> None: ...

    def submit(self, one: object, other: object) -> None:
        """Hand over what follows the headers of two members (b'' for none)."""

    def next(self) -> list[PlainPiece | None]:
        """
        What the oldest two inflate to; None for one that is damaged or claims more than ``most`` bytes.
        """

    def close(self) -> None:
        """End the threads."""

class StreamInflater:
    """Inflates raw deflate data that comes in parts of any size."""

    def __init__(self) -> None: ...

    def feed(self, data: object) -> None:
        """Hand over more of the data, where it ``needs_input``."""

    def next(self) -> PlainPiece:
        """The next piece of what comes out, of a bounded size, or an empty one."""

    @property
    def needs_input(self) -> bool: ...

    @property
    def done(self) -> bool: ...

    @property
    def damaged(self) -> bool:
        """Whether the last piece ends where the data is damaged."""

    @property
    def unread(self) -> int:
        """
        Bytes that were handed over and are not read: behind the end of the data, where it is ``done``.
        """

def inflate_member(body: object, *, most: int) -> PlainPiece | None:
    """
    Inflate what follows the header of a gzip member; None where it is damaged or claims more than ``most`` bytes.
    """

class Fault:
    """What is wrong with a frame, and where."""

    @property
    def kind(self) -> str:
        """
        One of length-crc, data-crc, too-large, truncated-header, truncated-record, none.
        """

    @property
    def offset(self) -> int:
        """Byte offset of the frame in the input."""

    @property
    def record(self) -> int:
        """Number of the frame in the input, from 0."""

    @property
    def need(self) -> int:
        """
        Bytes that the frame claims (too-large: its payload), or 0 where its header is unreadable.
        """

    @property
    def have(self) -> int:
        """
        Bytes that the input has from the frame's start, as far as they are known.
        """

class RecordChunk:
    """A buffer and the records in it, without a Python object per record."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, index: int) -> bytes:
        """One record as bytes."""

    @overload
    def __getitem__(self, index: slice) -> RecordChunk:
        """A slice, which shares the buffer."""

    def __iter__(self) -> Iterator[bytes]: ...

    @property
    def first_record(self) -> int:
        """Number, in the input, of the first record."""

    @property
    def source(self) -> str:
        """The input's name."""

    @property
    def buffer(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]:
        """
        The memory that the records lie in (read-only); it stays valid while the array lives.
        """

    @property
    def spans(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None, None), writable=False)]:
        """Array [n, 2]: offset in ``buffer`` and length of each payload."""

    def frame_offset(self, index: int) -> int:
        """Byte offset, in the input, of a record's frame."""

class FileRecords:
    """Reads a local file's records ahead on native threads."""

    def __init__(self, path: str | os.PathLike[str], *, verify: bool = True, max_record_bytes: int = 1073741824, threads: int = 1, block_bytes: int = 1048576, start_offset: int = 0, start_record: int = 0) -> None: ...

    def next(self) -> RecordChunk | Fault | None:
        """The next chunk or fault, or None at the end."""

    def close(self) -> None:
        """End the threads and close the file."""

class Sound:
    """Records that were decoded and let go of."""

    @property
    def records(self) -> int: ...

    @property
    def bytes(self) -> int:
        """Of their frames."""

class CheckedRecords:
    """
    Reads and decodes a local file's records, and lets go of those that decode.
    """

    def __init__(self, path: str | os.PathLike[str], decoder: NativeDecoder, *, max_record_bytes: int = 1073741824, threads: int = 1, block_bytes: int = 1048576) -> None: ...

    def next(self) -> Sound | RecordChunk | Fault | None:
        """
        What comes next, a chunk where one of its records does not decode; None at the end.
        """

    def close(self) -> None:
        """End the threads and close the file."""

class StreamRecords:
    """Finds records in a stream that is pushed in pieces of any size."""

    def __init__(self, *, verify: bool = True, max_record_bytes: int = 1073741824, input_end: int | None = None, start_offset: int = 0, start_record: int = 0, source: str = "") -> None: ...

    def feed(self, data: object) -> list[RecordChunk | Fault]:
        """
        Take more of the stream in, as a copy unless it is a PlainPiece; answer what it completes.
        """

    def finish(self) -> list[RecordChunk | Fault]:
        """End the stream; a record that is still incomplete is a fault."""

    @property
    def record(self) -> int:
        """Number of the record that comes next."""

    @property
    def offset(self) -> int:
        """Byte offset of the record that comes next."""

def find_header(data: object, start: int = 0) -> int:
    """First position where a frame header checks itself, or ``len(data)``."""

class RecordPool:
    """Records of many chunks, numbered through."""

    def __init__(self, chunks: list[RecordChunk]) -> None: ...

    def __len__(self) -> int: ...

    def take(self, records: NDArray[numpy.int64]) -> RecordChunk:
        """
        Copy records into a chunk of their own, in the order in which they are named.
        """

class Stretch:
    """A part of a damaged file."""

    @property
    def kind(self) -> str:
        """
        One of whole (records), doubtful (frames that are perhaps no records of the file), lost.
        """

    @property
    def start(self) -> int:
        """Byte offset."""

    @property
    def stop(self) -> int:
        """Byte offset behind it."""

    @property
    def records(self) -> int:
        """How many there are, one behind the other."""

    @property
    def fault(self) -> Fault:
        """Why it is lost; the number of the record is not set."""

def survey(path: str | os.PathLike[str], start: int, stop: int, *, starts_at_record: bool = True, ends_with_file: bool = True, max_record_bytes: int = 1073741824, flat: bool = False) -> tuple[list[Stretch], bool, int]:
    """
    What can be saved of a part of a damaged file: stretches that tile it (doubtful ones may overlap those before them), whether a record is known to start at the end of the last where that is not `stop`, and the bytes that were read for checksums or searched more than once.
    """

class FrameBuffer:
    """Frames on their way out, for one thread at a time."""

    def __init__(self, usual: int = 1048576) -> None:
        """Frames that are taken at about ``usual`` bytes."""

    def __len__(self) -> int:
        """Bytes of all frames."""

    @property
    def count(self) -> int:
        """Frames in the buffer."""

    def append(self, record: object) -> int:
        """Frame one bytes-like record; answer the bytes of all frames."""

    def extend(self, records: list[Any], start: int, limit: int) -> int:
        """
        Frame records[start:] until the frames have ``limit`` bytes; answer the index of the first one left.
        """

    def crc32c(self, crc: int = 0) -> int:
        """CRC32C of the bytes of all frames, continuing from ``crc``."""

    def take(self) -> bytes:
        """The frames' bytes; the buffer is empty afterwards."""

class FileWriter:
    """
    Writes to a copy of a file descriptor in order, on a native thread. Errors are sticky.
    """

    def __init__(self, descriptor: int) -> None: ...

    def write_frames(self, frames: FrameBuffer) -> None:
        """Take the frames over, without a copy, and write them."""

    def write(self, data: object) -> None:
        """Copy a bytes-like object and write it."""

    def drain(self) -> None:
        """Wait until everything is with the operating system."""

    def sync(self) -> None:
        """Wait until everything is on the disk."""

    def close(self) -> None:
        """
        End the thread, or let go of it where it is stuck in a write; raise what a write, or the end, came to. The descriptor stays open.
        """

class ColumnMemory:
    """What the array of a column lies in."""

class DecodeFault:
    """Why a record does not decode."""

    @property
    def kind(self) -> str: ...

    @property
    def row(self) -> int:
        """Row of the batch."""

    @property
    def feature(self) -> int | None:
        """Index of the feature, where the fault lies in one."""

    @property
    def found_kind(self) -> str: ...

    @property
    def expected(self) -> int:
        """Values, or bytes."""

    @property
    def found(self) -> int:
        """Values, or bytes."""

class FeaturePlan:
    """What the decoder needs to know about a feature."""

    def __init__(self, *, key: bytes, dtype: str, shape: Sequence[int], raw: bool = False, ragged: bool = False, sequence: bool = False, missing: str = 'error', default_row: bytes = ..., unset_takes_default: bool = True) -> None: ...

class NativeDecoder:
    """Decodes records into columns."""

    def __init__(self, features: Sequence[FeaturePlan], *, default_bytes: bytes, sequence_example: bool, validate_all: bool, threads: int) -> None: ...

    def decode(self, chunks: list[RecordChunk], outputs: list[Any]) -> tuple[int, list[Any], list[NDArray[numpy.uint8]], DecodeFault | None]:
        """
        Decode into new columns, or into the arrays in ``outputs`` (empty, or one or None per feature).
        """

    @property
    def dense_row_bytes(self) -> int:
        """Memory of a row in the columns whose rows are of one size."""

class DecodeQueue:
    """Decodes batches ahead, side by side; they come out in order."""

    def __init__(self, decoder: NativeDecoder, threads: int) -> None: ...

    def submit(self, chunks: list[RecordChunk], outputs: list[Any]) -> None:
        """Start to decode a batch; ``outputs`` as in NativeDecoder.decode."""

    @property
    def pending(self) -> int:
        """Batches submitted and not taken."""

    def next(self) -> tuple[int, list[Any], list[NDArray[numpy.uint8]], DecodeFault | None]:
        """The oldest batch."""

    def close(self) -> None:
        """End the threads."""

def chunk_from_records(records: list[Any], source: str = "") -> RecordChunk:
    """Copy records into a chunk."""

class FaultInFile:
    """What is wrong with a frame of one of several files."""

    @property
    def file(self) -> int:
        """Index of the file."""

    @property
    def fault(self) -> Fault: ...

class FileBatches:
    """Reads, checks and decodes local files on native threads."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]], decoder: NativeDecoder, batch_rows: int, *, verify: bool = True, max_record_bytes: int = 1073741824, threads: int = 1, block_bytes: int = 262144, start: tuple[int, int, int] = (0, 0, 0), rows: int | None = None) -> None: ...

    def next(self) -> tuple[int, list[Any], list[NDArray[numpy.uint8]], DecodeFault | None] | FaultInFile | None:
        """The next batch, the damage that ends the stream, or None at its end."""

    @property
    def place(self) -> tuple[int, int, int]:
        """
        (file, offset, record) of the first row that was not given out in a good batch.
        """

    def place_of(self, row: int) -> tuple[int, int]:
        """(file, record) of a row of the batch that was given last."""

    def close(self) -> None:
        """End the threads and close the files."""

class EncodeColumn:
    """A column to write; it keeps its arrays alive."""

    def __init__(self, key: str, dtype: str, values: NDArray[Any], *, count: int = 1, raw: bool = False, sequence: bool = False, offsets: NDArray[numpy.int64] | None = None, step_offsets: NDArray[numpy.int64] | None = None, valid: NDArray[numpy.bool_] | None = None, buffers: Sequence[NDArray[numpy.uint8]] = ()) -> None: ...

def encode_rows(columns: Sequence[EncodeColumn], rows: int, first: int, limit: int, frames: FrameBuffer, sequence_example: bool = False) -> int:
    """
    Frame rows[first:] as Examples until the frames have ``limit`` bytes; answer the first row left.
    """

class FetchFault:
    """Why a record is not where, or what, the index says."""

    @property
    def row(self) -> int:
        """Row of the job."""

    @property
    def kind(self) -> str:
        """
        One of length-crc, data-crc, truncated-record, moved (a good record of another length: the index is stale), unread (with others; reading it alone tells why).
        """

class RecordPlaces:
    """Where the records of files are; rows are numbered through all files."""

    def __init__(self, files: tuple[tuple[int, int] | tuple[NDArray[numpy.uint64], NDArray[numpy.uint64] | None], ...]) -> None:
        """
        Of each file how many records it has and the length of each, or the starts of their frames and the lengths of their payloads; without lengths, the starts end with the end of the last.
        """

    @property
    def nbytes(self) -> int:
        """Of the frames, about."""

class NativeRowDecoder:
    """Decodes one record at a time."""

    def __init__(self, decoder: NativeDecoder, scalars: Sequence[Sequence[int]]) -> None:
        """
        ``scalars`` are groups of features without shape; each comes as one array.
        """

class RecordFetcher:
    """Reads records of local files by their numbers, on native threads."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]], places: RecordPlaces, *, threads: int, verify: bool = True, max_open_files: int = 64) -> None: ...

    def foresee(self, jobs: list[NDArray[numpy.int64]], decoder: NativeDecoder | None = None) -> None:
        """
        Say which rows will be submitted next, job by job, so that they are read together: for rows that are a good part of what lies between them. With the decoder that they will be submitted with, and no outputs, they may be decoded then, too.
        """

    def submit(self, rows: NDArray[numpy.int64], decoder: NativeDecoder, outputs: list[Any] = []) -> None:
        """Start to read and decode rows. ``outputs`` as in NativeDecoder.decode."""

    @property
    def pending(self) -> int:
        """Jobs submitted and not taken."""

    def next(self) -> tuple[tuple[int, list[Any], list[NDArray[numpy.uint8]], DecodeFault | None] | None, list[FetchFault]]:
        """The oldest job: what its rows decode to, or else all that is wrong."""

    def fetch(self, rows: NDArray[numpy.int64], decoder: NativeDecoder) -> tuple[tuple[int, list[Any], list[NDArray[numpy.uint8]], DecodeFault | None] | None, list[FetchFault]]:
        """
        Read and decode rows at once, on the calling thread and others, and answer as next() does.
        """

    def records(self, rows: NDArray[numpy.int64]) -> tuple[list[bytes], list[FetchFault]]:
        """Read rows as they are stored, at once; or answer all that is wrong."""

    def record(self, row: int) -> bytes | FetchFault:
        """Read one row as it is stored, on the calling thread."""

    def row(self, row: int, decoder: NativeRowDecoder) -> tuple[list[NDArray[Any]], list[Any], list[NDArray[numpy.uint8]]] | None:
        """
        Read and decode one row, on the calling thread: the groups of scalars, the columns of the other features (None for those in groups), and what views point into. None where anything is wrong.
        """

    def close(self) -> None:
        """End the threads and close the files."""

class RowGatherer:
    """
    Gathers rows into columns; ``refuse(row, value)`` raises for what is no row of the features.
    """

    def __init__(self, refuse: object) -> None: ...

    def add_numbers(self, name: str, dtype: str, shape: Sequence[int], convert: object) -> None:
        """
        Gather a feature; a size of -1 varies. ``convert(row, value, level)`` makes what fits.
        """

    def add_strings(self, name: str, text: bool, shape: Sequence[int], convert: object) -> None:
        """
        Gather a feature; a size of -1 varies. ``convert(row, value, level)`` makes what fits.
        """

    def add_objects(self, name: str, hold: object) -> None:
        """Gather a feature as Python objects, each as ``hold`` answers it."""

    def add(self, row: Any) -> None:
        """Add a row; nothing of it that could change is kept."""

    def extend(self, rows: list[Any], start: int, limit: int, most: int) -> int:
        """
        Add rows[start:] until there are ``limit`` bytes or ``most`` rows; answer the index of the first one left.
        """

    def add_values(self, values: list[Any]) -> None:
        """Add values of the only feature."""

    def __len__(self) -> int:
        """Rows that have gathered."""

    @property
    def nbytes(self) -> int:
        """About how many bytes the rows have."""

    def take(self) -> list[Any]:
        """
        Of each feature (memory, lengths, valid, rows), or a list of objects; the gatherer is empty afterwards.
        """

def hold_row(row: Any, copy: Callable[[Any], Any]) -> Any:
    """
    A copy of a row that stays as it is when the row changes; ``copy`` makes that of what is no plain Python object.
    """

class FrameWalk:
    """Walks a local plain file from header to header, on native threads."""

    def __init__(self, path: str | os.PathLike[str], *, max_record_bytes: int = 1073741824, threads: int = 1, piece_bytes: int = 2097152, keep_lengths: bool = False) -> None: ...

    def advance(self, bytes: int) -> bool:
        """
        Walk over the frames that start in the next bytes; False when the end or a fault was reached.
        """

    def take_lengths(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
        """
        The lengths of the payloads since they were last taken, where they are kept.
        """

    @property
    def file_size(self) -> int: ...

    @property
    def position(self) -> int:
        """Where the next frame starts."""

    @property
    def records(self) -> int:
        """Whole records so far."""

    @property
    def fault(self) -> Fault:
        """What ended the walk early; its kind may be none."""

def read_example(data: object, sequence_example: bool = False) -> tuple[dict[bytes, tuple[str, list[Any]]], dict[bytes, list[tuple[str, list[Any]]]]] | None:
    """
    Read a whole Example as protobuf does: (context, feature lists), or None where the bytes are malformed.
    """

def sketch_example(data: object, most_numbers: int) -> tuple[dict[bytes, tuple[str, list[Any], int]], dict[bytes, list[tuple[str, list[Any], int]]]] | None:
    """
    Read a SequenceExample, of its numbers the first of each list: kind, values and their number.
    """

def positions_in(numbers: list[Any], length: int) -> NDArray[numpy.int64] | None:
    """
    The positions that a list of integers names in a sequence, those below zero from its end; None where it names anything else.
    """

def permute(positions: NDArray[numpy.int64], n: int, *, seed: int, epoch: int = 0, stream: int = 0) -> NDArray[numpy.int64]:
    """
    Where a pseudo-random bijection on 0 ... n-1, chosen by seed, epoch and stream, takes the positions.
    """
