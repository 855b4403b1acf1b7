"""A password is hashed as Django hashes it, in a process of its own that yields to others."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, make_password

from tests.faults.conftest import until
from webapp.identity.accounts.hasher import PatientHasher


@pytest.mark.parametrize("password", ["correct horse", "pässwörd \U0001f511"])
def test_a_hash_is_djangos_own(password: str) -> None:
    assert PatientHasher().encode(password, "salt", 10) == PBKDF2PasswordHasher().encode(password, "salt", 10)


def test_a_password_is_right_or_wrong() -> None:
    encoded = make_password("right")
    assert check_password("right", encoded) and not check_password("wrong", encoded)


def test_the_process_yields_to_others() -> None:
    own = psutil.Process()
    before = set(own.children())
    with ThreadPoolExecutor(1) as pool:
        hashing = pool.submit(PatientHasher().encode, "password", "salt", 20_000_000)
        until(lambda: bool(set(own.children()) - before), 30)
        (child,) = set(own.children()) - before
        until(lambda: child.nice() > os.nice(0) or child.nice() == 19, 30)
        assert "password" not in child.cmdline()
        child.kill()
        assert isinstance(hashing.exception(), subprocess.CalledProcessError)
