"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file to write; at the end it takes the place of `path`, unless something went wrong.

    Whoever reads `path` meanwhile sees what was there before. The temporary file has the same ending, so that its kind
    can be told by it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answer.txt")
    ...     with replacing(path) as new:
    ...         _ = new.write_text("42")
    ...         was_there = path.exists()
    ...     was_there, path.read_text(), len(list(path.parent.iterdir()))
    (False, '42', 1)
    """
    target = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    if target.exists() and not target.is_file():
        with _filling(target) as new:
            yield new
        return
    handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
    try:
        os.close(handle)
        new = Path(name)
        yield new
        _keep_permissions(new, target)
        _sync(new)
        new.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise at once what `replacing` would raise: an OSError if no file can be made there.

    Examples
    --------
    >>> check_place("/nowhere/answer.txt")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not target.exists() or target.is_file():
        os.stat(target.parent)
        with tempfile.NamedTemporaryFile(dir=target.parent):
            pass


@contextmanager
def _filling(target: Path) -> Iterator[Path]:
    """Give a temporary file whose content goes to a device or a pipe, which cannot be replaced."""
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder, target.name)
        yield new
        with new.open("rb") as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink)


def _keep_permissions(new: Path, target: Path) -> None:
    """Give a new file the permissions of the one it replaces, or those that any new file gets."""
    if target.exists():
        new.chmod(target.stat().st_mode & 0o7777)
        return
    mask = os.umask(0)
    os.umask(mask)
    new.chmod(0o666 & ~mask)


def _sync(path: Path) -> None:
    """Make sure that the bytes are on the disk before the name is."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
