"""Builds llama.cpp's server for this CPU, in an environment of the benchmarks' own.

The wheel that the tests use (xllamacpp) was built for any x86-64 with AVX2, so a fair peer needs the instructions that
this CPU has. The source is that of llama-cpp-python's sdist, from the package index. Knows nothing of how it is driven.

    python -m benchmarks.build_peer        needs cmake, ninja and a C++ compiler; about half an hour on two cores
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements-peer.txt")
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "BUILD_SHARED_LIBS": "OFF",
    "GGML_NATIVE": "ON",
    "LLAMA_OPENSSL": "OFF",
    "LLAMA_BUILD_TESTS": "OFF",
    "LLAMA_BUILD_EXAMPLES": "OFF",
    "LLAMA_BUILD_UI": "OFF",
    "LLAMA_USE_PREBUILT_UI": "OFF",
}


def peer_folder() -> Path:
    """Where source and build lie: SIGHTGLASS_PEER, else the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("SIGHTGLASS_PEER") or cache / "sightglass-benchmarks")


def native_server() -> Path | None:
    """The server built for this CPU, if `python -m benchmarks.build_peer` was run."""
    binary = peer_folder() / "build" / "bin" / "llama-server"
    return binary if binary.exists() else None


def fetch_source(folder: Path) -> Path:
    """Download the sdist with pip in a fresh environment, unpack it; returns llama.cpp's folder."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    command = [str(folder / "venv/bin/pip"), "download", "--no-deps", "--no-binary", "llama-cpp-python"]
    command += ["--require-hashes", "--requirement", str(REQUIREMENTS), "--dest", str(folder)]
    subprocess.run(command, check=True)
    (archive,) = folder.glob("llama_cpp_python-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "source", filter="data")
    (source,) = folder.glob("source/*/vendor/llama.cpp")
    return source


def build(source: Path, target: Path, num_jobs: int = 2) -> None:
    """Configure and build the one program, at the lowest priority."""
    options = [f"-D{name}={value}" for name, value in OPTIONS.items()]
    subprocess.run(["cmake", "-G", "Ninja", "-S", str(source), "-B", str(target), *options], check=True)
    make = ["cmake", "--build", str(target), "--target", "llama-server", "--parallel", str(num_jobs)]
    subprocess.run(["nice", "-n", "19", *make], check=True)


def main() -> None:
    if missing := [tool for tool in ("cmake", "ninja", "c++") if shutil.which(tool) is None]:
        raise SystemExit(f"install {', '.join(missing)} first: llama.cpp is built from its source")
    folder = peer_folder()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build(fetch_source(folder), folder / "build")
    print(f"built {native_server()}")


if __name__ == "__main__":
    main()
