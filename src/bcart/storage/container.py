"""The outer form of a model file: a signature, a version, a JSON header, arrays, a checksum.

====================  ================================================================================================
bytes                 meaning
====================  ================================================================================================
8                     the signature ``89 42 43 41 52 54 0D 0A``, which a transfer as text would damage
4                     the version of the format, a little-endian unsigned number
8                     the length of the header in bytes, likewise
so many               the header: an object of JSON in UTF-8, whose ``arrays`` lists name, type and shape of each array
the rest but 32       the arrays in that order, one behind the other, little-endian, in C order
32                    the SHA-256 of all bytes before
====================  ================================================================================================
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from math import prod
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from bcart.errors import FormatError, InvalidModelError

SIGNATURE = b"\x89BCART\r\n"
VERSION = 1

Arrays = dict[str, npt.NDArray[Any]]

_PREFIX = struct.Struct("<8sIQ")
_DIGEST_SIZE = hashlib.sha256().digest_size
_TYPES = {"<f8": np.float64, "<i4": np.int32, "|u1": np.uint8, "|b1": np.bool_}


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return a header and arrays as the bytes of a file."""
    stored = {name: np.asarray(array, dtype=_little_endian(array), order="C") for name, array in arrays.items()}
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in stored.items()]
    text = _as_json({**header, "arrays": listed})
    body = b"".join(
        [_PREFIX.pack(SIGNATURE, VERSION, len(text)), text, *(array.tobytes() for array in stored.values())]
    )
    return body + hashlib.sha256(body).digest()


def unpack(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file, or raise `FormatError` if it is not whole and one of ours."""
    if len(content) < _PREFIX.size or not content.startswith(SIGNATURE):
        raise FormatError("it does not begin like a model of bcart")
    _, version, n_header = _PREFIX.unpack_from(content)
    if version > VERSION:
        raise FormatError(
            f"it has version {version} of the format, this bcart reads up to {VERSION}; install a newer one"
        )
    end = len(content) - _DIGEST_SIZE
    if version == 0 or hashlib.sha256(content[:end]).digest() != content[end:]:
        raise FormatError("its checksum is wrong: it is damaged or cut short; make or copy it again")
    if n_header > end - _PREFIX.size:
        raise FormatError("its header is longer than the file")
    begin = _PREFIX.size + n_header
    header = _from_json(content[_PREFIX.size : begin])
    return header, _read_arrays(header.pop("arrays", None), memoryview(content)[begin:end])


def _little_endian(array: npt.NDArray[Any]) -> str:
    name = array.dtype.newbyteorder("<").str
    if name not in _TYPES:
        raise InvalidModelError(f"arrays of {array.dtype} have no place in a model file")
    return name


def _as_json(header: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(header, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidModelError(
            f"the model cannot be written: {error}; labels and notes must be text, finite numbers or truth values"
        ) from None


def _from_json(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"its header is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise FormatError("its header is not a JSON object")
    return header


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _read_arrays(listed: Any, content: memoryview) -> Arrays:
    if not isinstance(listed, list) or not all(map(_is_entry, listed)):
        raise FormatError("its header does not list name, type and shape of the arrays")
    arrays, begin = {}, 0
    for name, type_name, shape in listed:
        n_bytes = prod(shape) * np.dtype(_TYPES[type_name]).itemsize
        if n_bytes > len(content) - begin:
            raise FormatError(f"its array {name!r} of shape {shape} is longer than the file")
        is_truth = type_name == "|b1"  # any byte but 0 stands for true
        flat = np.frombuffer(content[begin : begin + n_bytes], dtype="|u1" if is_truth else type_name)
        arrays[name] = flat.astype(_TYPES[type_name]).reshape(shape)
        begin += n_bytes
    if begin != len(content):
        raise FormatError(f"it holds {len(content) - begin} bytes that belong to no array")
    return arrays


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) == 3
        and isinstance(entry[0], str)
        and isinstance(entry[1], str)
        and entry[1] in _TYPES
        and isinstance(entry[2], list)
        and len(entry[2]) <= 2
        and all(type(length) is int and length >= 0 for length in entry[2])
    )
