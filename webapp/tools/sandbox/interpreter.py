"""The files of the running interpreter that isolated code needs: the binary, the standard library, their libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

_LIST = """
import ctypes, importlib, json, os, sys
for name in sorted(os.listdir(sys.argv[1])) if os.path.isdir(sys.argv[1]) else []:
    try:
        importlib.import_module(name.partition(".")[0])
    except BaseException:
        pass

class Info(ctypes.Structure):
    _fields_ = [("addr", ctypes.c_void_p), ("name", ctypes.c_char_p)]

found = []
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)
ctypes.CDLL(None).dl_iterate_phdr(kind(lambda info, *_: found.append((info[0].name or b"").decode()) or 0), None)
print(json.dumps([name for name in found if name.startswith("/")]))
"""
"""Loads each extension module of the standard library, and prints the libraries that the process then has."""
_LIST_S = 60


class NoInterpreter(Exception):
    """The interpreter's files cannot be told."""


@dataclass(frozen=True)
class Interpreter:
    """The interpreter without the packages that are installed beside its standard library."""

    binary: Path
    library: Path
    """Folder of the standard library."""
    shared: tuple[str, ...]
    """Shared libraries outside that folder, by the names under which they are loaded."""
    hidden: tuple[Path, ...]
    """Folders in the standard library that hold other packages."""


def running() -> Interpreter:
    """Return the interpreter of this process, of which a virtual environment is only a view. Raises NoInterpreter."""
    binary, library = Path(sys.executable).resolve(), Path(os.__file__).parent
    extensions = sysconfig.get_config_var("DESTSHARED") or str(library / "lib-dynload")
    try:
        command = [binary, "-I", "-S", "-B", "-c", _LIST, extensions]
        listed = subprocess.run(command, capture_output=True, timeout=_LIST_S, check=True, env={})
        shared = json.loads(listed.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise NoInterpreter(f"the interpreter's libraries cannot be listed ({error})") from None
    outside = sorted({name for name in shared if not Path(name).is_relative_to(library)} - {str(binary)})
    hidden = [library / name for name in ("site-packages", "dist-packages")]
    return Interpreter(binary, library, tuple(outside), tuple(each for each in hidden if each.is_dir()))
