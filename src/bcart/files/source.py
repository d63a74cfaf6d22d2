"""A CSV or Parquet file, open for questions in SQL."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy.typing as npt

from bcart.errors import InvalidDataError, MemoryBudgetError
from bcart.files.dialect import MISSING_TEXTS, Dialect
from bcart.files.sql import identifier, literal
from bcart.limits import Limits, format_bytes
from bcart.tables import unmasked

T = TypeVar("T")
Arrays = dict[str, npt.NDArray[Any]]

_LEAST_MEMORY = 200_000_000  # bytes with which DuckDB can work
ROWS_PER_CHUNK = 2**18  # that are in memory at once
_SAMPLE_SIZE = 200_000  # rows of a CSV file by which the types of its columns are guessed at first


class Source:
    """A file whose rows DuckDB can be asked about, whatever their number: what does not fit into memory is on disk.

    Rows are those of the view ``rows``: `r` is the number of a row, and `c0`, `c1`, ... are its values. No name of the
    file is a name in SQL, so that none can do harm.

    Parameters
    ----------
    path : path of the file
        Parquet, or CSV whose first line names the columns; which of them is told by the content.
    limits : Limits
        DuckDB takes no more memory than these allow, and no more threads.
    missing : collection of str
        Texts that stand for missing values in CSV.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "some.csv")
    ...     _ = path.write_text("dose,answer\\n1,yes\\n2.5,no\\n")
    ...     with Source(path, Limits()) as source:
    ...         source.load()
    ...         source.types, source.rows("SELECT * FROM rows ORDER BY r")
    ({'dose': 'DOUBLE', 'answer': 'VARCHAR'}, [(0, 1.0, 'yes'), (1, 2.5, 'no')])
    """

    def __init__(self, path: str | os.PathLike[str], limits: Limits, missing: Collection[str] = MISSING_TEXTS) -> None:
        self.path = Path(path)
        self.limits = limits
        self._missing = tuple(missing)
        self._dialect = Dialect.of(self.path)
        self._cleanup = ExitStack()
        try:
            self._connect()
            self.types = self._describe()
        except BaseException:
            self._cleanup.close()
            raise

    def _connect(self) -> None:
        folder = self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="bcart-"))
        self._thread = self._cleanup.enter_context(ThreadPoolExecutor(1))
        n_bytes = max(_LEAST_MEMORY, self.limits.n_bytes)
        is_small = self.path.stat().st_size < n_bytes // 4
        self._connection = duckdb.connect(
            ":memory:" if is_small else str(Path(folder, "rows.duckdb")),
            config={
                "memory_limit": f"{n_bytes}B",
                "threads": self.limits.n_workers,
                "temp_directory": str(Path(folder, "spilled")),
                "autoinstall_known_extensions": False,
            },
        )
        self._cleanup.callback(self._connection.close)

    def _describe(self) -> dict[str, str]:
        query = f"DESCRIBE SELECT * FROM {self._reader()}"
        try:
            found = self._ask(lambda: self._connection.execute(query).fetchall())
        except duckdb.Error:
            found = self.rows(query) if self._dialect.is_parquet else self._complain()
        self._own_names = [name for name, *_ in found]
        names = self._dialect.names if self._is_well_named(self._dialect.names) else self._own_names
        return {name: kind for name, (_, kind, *_) in zip(names, found, strict=True)}

    def _is_well_named(self, names: Sequence[str]) -> bool:
        """Tell whether the names in the first line will do; DuckDB's differ where only case tells names apart."""
        return len(names) == len(self._own_names) and len(set(names)) == len(names) and all(names)

    def _complain(self) -> list[tuple[Any, ...]]:
        """Read all lines of a CSV file by the names in its first line, so that the line is named that does not fit."""
        columns = ", ".join(f"{literal(f'c{place}')}: 'VARCHAR'" for place in range(len(self._dialect.names)))
        options = f"{self._dialect.options(self._missing)}, auto_detect = false, columns = {{{columns}}}"
        self.do(f"SELECT count(*) FROM read_csv({self._location}, {options})")
        raise InvalidDataError(f"{self.path.name} cannot be read as CSV in UTF-8, nor as Parquet")

    @property
    def _location(self) -> str:
        """The path; brackets make characters stand for themselves where patterns are allowed."""
        return literal(re.sub(r"[*?\[]", r"[\g<0>]", str(self.path.absolute())))

    def _reader(self, as_text: Collection[str] = (), sample_size: int = _SAMPLE_SIZE) -> str:
        """Write the call that reads the file."""
        if self._dialect.is_parquet:
            return f"read_parquet({self._location}, hive_partitioning = false)"
        types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in as_text)
        options = f"{self._dialect.options(self._missing)}, sample_size = {sample_size}"
        return f"read_csv({self._location}, {options}" + (f", types = {{{types}}})" if types else ")")

    def load(self, as_text: Collection[str] = ()) -> None:
        """Make the rows known; of a CSV file, some columns may be read as the text that they are."""
        if self._dialect.is_parquet and not any(name.lower() == "file_row_number" for name in self.types):
            reader = self._reader().replace("hive_partitioning", "file_row_number = true, hive_partitioning")
            self.do(f"CREATE VIEW rows AS SELECT file_row_number AS r, {self._renamed} FROM {reader}")
        else:
            self._copy(as_text)
            self.do("CREATE VIEW rows AS SELECT rowid AS r, * FROM copied")
        found = self.rows("DESCRIBE rows")[1:]
        self.types = {name: kind for name, (_, kind, *_) in zip(self.types, found, strict=True)}
        self.n_rows = int(self.rows("SELECT count(*) FROM rows")[0][0])
        if self.n_rows == 0:
            raise InvalidDataError(f"{self.path.name} has no rows, only names of columns")

    def _copy(self, as_text: Collection[str]) -> None:
        """Parse the file once; if a later row is not as the first ones, once more with types that fit all rows."""
        texts = [own for own, name in zip(self._own_names, self.types, strict=True) if name in as_text]
        command = f"CREATE TABLE copied AS SELECT {self._renamed} FROM"
        try:
            self._ask(lambda: self._connection.execute(f"{command} {self._reader(texts)}"))
        except (duckdb.ConversionException, duckdb.InvalidInputException):
            self.do(f"{command} {self._reader(texts, sample_size=-1)}")

    @property
    def _renamed(self) -> str:
        return ", ".join(f"{identifier(name)} AS c{place}" for place, name in enumerate(self._own_names))

    def column(self, name: str) -> str:
        """Return the name in SQL of a column."""
        return f"c{self._place(name)}"

    def _place(self, name: str) -> int:
        if name not in self.types:
            listed = ", ".join(map(repr, self.types))
            raise InvalidDataError(f"{self.path.name} has no column {name!r}; its columns are {listed}")
        return list(self.types).index(name)

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse names that are none of a column."""
        for name in names:
            self._place(name)

    # -- questions ----------------------------------------------------------------------------------------------------

    def do(self, command: str) -> None:
        """Run a command."""
        self._clearly(lambda: self._connection.execute(command))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a short answer."""
        return self._clearly(lambda: self._connection.execute(query).fetchall())

    def row(self, query: str) -> tuple[Any, ...]:
        """Return the only row of an answer."""
        return self.rows(query)[0]

    def arrays(self, query: str) -> Arrays:
        """Return the columns of an answer, with missing values as in `unmasked`: NaN, or None among text."""
        found = self._clearly(lambda: self._connection.execute(query).fetchnumpy())
        return {name: unmasked(values) for name, values in found.items()}

    def chunks(self, table: str) -> Iterator[Arrays]:
        """Yield the columns of a table, some rows at a time in their order."""
        for start in range(0, int(self.row(f"SELECT count(*) FROM {table}")[0]), ROWS_PER_CHUNK):
            yield self.slice(table, start, start + ROWS_PER_CHUNK)

    def slice(self, table: str, start: int, stop: int) -> Arrays:
        """Return the columns of some rows of a table."""
        return self.arrays(f"SELECT * FROM {table} WHERE rowid >= {start} AND rowid < {stop} ORDER BY rowid")

    def append(self, table: str, columns: Arrays) -> None:
        """Add rows to a table, or make it of them."""
        self._clearly(lambda: self._append(table, columns))

    def _append(self, table: str, columns: Arrays) -> None:
        self._connection.register("appended", columns)
        is_there = self._connection.execute(f"SELECT count(*) FROM duckdb_tables() WHERE table_name = '{table}'")
        command = f"INSERT INTO {table}" if is_there.fetchall()[0][0] else f"CREATE TABLE {table} AS"
        self._connection.execute(f"{command} SELECT * FROM appended")
        self._connection.unregister("appended")

    def _clearly(self, question: Callable[[], T]) -> T:
        """Ask DuckDB, whose errors become ours."""
        try:
            return self._ask(question)
        except duckdb.OutOfMemoryException:
            raise MemoryBudgetError(
                f"reading {self.path.name} takes more than max_memory={format_bytes(self.limits.n_bytes)}, or more "
                "room than there is on the disk; raise max_memory, or give fewer columns"
            ) from None
        except duckdb.Error as error:
            raise InvalidDataError(f"{self.path.name} cannot be read: {_in_a_sentence(str(error))}") from error

    def _ask(self, question: Callable[[], T]) -> T:
        """Ask in another thread: DuckDB does not look for signals, so this one has to stay awake for Ctrl-C."""
        answer = self._thread.submit(question)
        try:
            return answer.result()
        except BaseException:
            while not answer.done():  # an interruption before the work has begun is not heard
                self._connection.interrupt()
                wait([answer], timeout=0.05)
            raise

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self._cleanup.close()


def _in_a_sentence(message: str) -> str:
    """Return the one line of DuckDB's explanation that tells what is wrong."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    line = next((line for line in lines if line.startswith(("Expected Number", "Value with", "Invalid unicode"))), "")
    if "state machine" in message:
        return "a quote is not closed, or lines end in several ways"
    where = re.search(r"on Line: (\d+)", message)
    found = line or re.sub(r"^[A-Za-z -]+ Error: ", "", lines[0])
    return f"line {where[1]}: {found}" if where else found
