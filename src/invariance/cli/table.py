"""The table of `predict`, written row by row: a file that appears when it is complete, or standard output."""

import csv
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO

from invariance._core.extras import command_for
from invariance._core.files import GENERATOR, atomic_path
from invariance.cli.console import open_output
from invariance.cli.output import COLUMNS

PARQUET = ".parquet"
MAX_GROUP_ROWS, MAX_GROUP_VALUES = 8192, 2**21  # of a row group of Parquet, which is in memory while it is filled


class Prediction(NamedTuple):
    """An image's file, its most probable class, and the probability of every class."""

    path: Path
    label: str
    probabilities: list[float]


class Table(Protocol):
    """A table that is being written."""

    def write(self, predictions: Sequence[Prediction]) -> None:
        """Append rows."""


@contextmanager
def open_table(path: Path | None, classes: list[str], waits: bool) -> Iterator[Table]:
    """Open the table.

    Parameters
    ----------
    path : Path or None
        A file ending in .csv or .parquet, which appears when it is complete; None is standard output.
    classes : list of str
    waits : bool
        Whether standard output gets nothing before the end.
    """
    if path is None:
        with _standard_output(waits) as stream:
            yield _Csv(stream, classes)
        return
    with atomic_path(path) as neighbour:
        if path.suffix.lower() == PARQUET:
            with _open_parquet(neighbour, classes) as table:
                yield table
            return
        # Names of files that are not valid text are written as their bytes.
        with neighbour.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            yield _Csv(file, classes)


@contextmanager
def _standard_output(waits: bool) -> Iterator[TextIO]:
    if not waits:
        yield open_output()
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="") as buffer:
        yield buffer
        buffer.seek(0)
        shutil.copyfileobj(buffer, open_output())


class _Csv:
    """A table of comma-separated values, with a header before the first row."""

    def __init__(self, stream: TextIO, classes: list[str]):
        self._writer = csv.writer(stream, lineterminator="\n")
        self._header: list[str] | None = [*COLUMNS, *name_columns(classes)]

    def write(self, predictions: Sequence[Prediction]) -> None:
        if predictions and self._header is not None:
            self._writer.writerow(self._header)
            self._header = None
        self._writer.writerows([path, label, *probabilities] for path, label, probabilities in predictions)


def check_parquet(path: Path | None) -> None:
    """Refuse a table in Parquet without the package that writes it."""
    from importlib.util import find_spec

    if path is not None and path.suffix.lower() == PARQUET and find_spec("pyarrow") is None:
        raise ValueError(f"cannot write '{path}': Parquet needs pyarrow. Try: {command_for('parquet')}, or write .csv.")


@contextmanager
def _open_parquet(path: Path, classes: list[str]) -> Iterator[Table]:
    import pyarrow as pa
    from pyarrow import parquet

    types = [pa.string()] * len(COLUMNS) + [pa.float64()] * len(classes)
    columns = [_as_text(name) for name in (*COLUMNS, *name_columns(classes))]
    schema = pa.schema(list(zip(columns, types, strict=True)), metadata={"generator": GENERATOR})
    with path.open("wb") as file, parquet.ParquetWriter(file, schema) as writer:
        table = _Parquet(writer, schema)
        yield table
        table.end_group()


class _Parquet:
    """A table in Parquet: rows are collected until they fill a row group."""

    def __init__(self, writer: Any, schema: Any):
        self._writer, self._schema = writer, schema
        self._n_rows = max(1, min(MAX_GROUP_ROWS, MAX_GROUP_VALUES // len(schema)))
        self._rows: list[Prediction] = []

    def write(self, predictions: Sequence[Prediction]) -> None:
        self._rows += predictions
        if len(self._rows) >= self._n_rows:
            self.end_group()

    def end_group(self) -> None:
        """Write the collected rows."""
        import pyarrow as pa

        if not self._rows:
            return
        paths, labels, probabilities = zip(*self._rows, strict=True)
        columns = [[_as_text(str(path)) for path in paths], [_as_text(label) for label in labels]]
        columns += [list(column) for column in zip(*probabilities, strict=True)]
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []


def _as_text(name: str) -> str:
    """Return a name whose bytes that are no text are written as escapes, since Parquet holds valid text only."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def name_columns(classes: list[str]) -> list[str]:
    """Return the names of the columns of classes: their own, with a prefix where the table has such a column."""

    def column(name: str) -> str:
        is_taken = name in COLUMNS
        while is_taken:
            name = f"class:{name}"
            is_taken = name in classes
        return name

    return [column(name) for name in classes]
