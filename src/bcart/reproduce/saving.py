"""A folder of files that appear together, whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bcart.errors import InvalidModelError


def check_folder(output: str | os.PathLike[str]) -> None:
    """Raise `InvalidModelError` if no folder can be written there: better before a long run than after it."""
    with _new_folder(Path(output)):
        pass


def write_folder(output: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write files into a folder, in place of those that have the same names; others stay."""
    folder = Path(output)
    with _new_folder(folder) as new:
        for name, content in files.items():
            (new / name).write_bytes(content)
        if not folder.exists():
            os.rename(new, folder)
            return
        for name in files:
            os.replace(new / name, folder / name)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Make a folder beside the one that is meant, on the same disk; what is left of it is removed."""
    if folder.exists() and not folder.is_dir():
        raise InvalidModelError(f"output={str(folder)!r} is a file; name a folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise InvalidModelError(f"output={str(folder)!r} cannot be written ({error.strerror}); name a folder") from None
    try:
        new.chmod(0o755)
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
