"""How a file is written: Parquet, or CSV with some delimiter."""

from __future__ import annotations

import csv
import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bcart.errors import InvalidDataError
from bcart.files.sql import any_of, literal

MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>", "?")

_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"
_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 2**20  # characters
# Not BOOLEAN: DuckDB would take yes and no, or 0 and 1, for truth values, and forget how they were written.
_TYPES = ("BIGINT", "DOUBLE", "TIME", "DATE", "TIMESTAMP", "VARCHAR")


@dataclass(frozen=True)
class Dialect:
    """What is told by the first bytes of a file.

    Parameters
    ----------
    delimiter : str
        What stands between the values of CSV; empty for Parquet.
    names : tuple of str
        The first line of CSV.
    is_compressed : bool

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "some.csv")
    ...     _ = path.write_text('"a, b";c\\n1;2\\n')
    ...     Dialect.of(path)
    Dialect(delimiter=';', names=('a, b', 'c'), is_compressed=False)
    """

    delimiter: str = ""
    names: tuple[str, ...] = ()
    is_compressed: bool = False

    @classmethod
    def of(cls, path: Path) -> Dialect:
        """Look at the beginning of a file."""
        if path.is_dir():
            raise InvalidDataError(f"{path} is a folder; give a CSV or Parquet file")
        with path.open("rb") as file:
            start = file.read(len(_PARQUET))
        if not start:
            raise InvalidDataError(f"{path.name} is empty")
        if start == _PARQUET:
            return cls()
        is_compressed = start.startswith(_GZIP)
        header = _first_line(path, is_compressed)
        delimiter = max(_DELIMITERS, key=lambda mark: len(_split(header, mark)))
        return cls(delimiter, tuple(_split(header, delimiter)), is_compressed)

    @property
    def is_parquet(self) -> bool:
        """Whether the file is Parquet."""
        return not self.delimiter

    def options(self, missing: tuple[str, ...]) -> str:
        """Write what DuckDB need not guess of a CSV file."""
        compression = "gzip" if self.is_compressed else "auto"
        return (
            f"header = true, delim = {literal(self.delimiter)}, quote = '\"', escape = '\"', comment = '', skip = 0, "
            f"compression = '{compression}', hive_partitioning = false, nullstr = {_listed(missing)}, "
            f"auto_type_candidates = {_listed(_TYPES)}"
        )


def _first_line(path: Path, is_compressed: bool) -> str:
    try:
        file: IO[str]
        with gzip.open(path, "rt", encoding="utf-8-sig") if is_compressed else path.open(encoding="utf-8-sig") as file:
            return file.readline(_LONGEST_HEADER).rstrip("\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InvalidDataError(f"{path.name} is compressed by gzip, but damaged or cut off; get it again") from None
    except UnicodeDecodeError:
        raise InvalidDataError(
            f"{path.name} is neither Parquet nor CSV in UTF-8; convert it, for example by "
            f"iconv -f latin1 -t utf-8 {path.name}"
        ) from None


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a name, or all of the line by another delimiter, is longer than csv takes
        return line.split(delimiter)


def _listed(texts: tuple[str, ...]) -> str:
    return "[" + any_of(texts)[1:-1] + "]"
