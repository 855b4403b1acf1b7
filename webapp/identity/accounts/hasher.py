"""Django's PBKDF2, computed in a process of low priority: guessed passwords do not slow the answers of others."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

from django.contrib.auth.hashers import PBKDF2PasswordHasher

_LIMIT_S = 60.0
"""Enough on a machine whose cores are all taken: a hash then has a third of the time that other work has."""
# Standard input has the password: a command line can be read by others.
_PROGRAM = """
import hashlib, json, os, sys
os.nice(5)
digest, password, salt, iterations = json.load(sys.stdin)
sys.stdout.buffer.write(hashlib.pbkdf2_hmac(digest, password.encode(), salt.encode(), iterations))
"""


class PatientHasher(PBKDF2PasswordHasher):
    """Its hashes are those of Django's PBKDF2PasswordHasher."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        self._check_encode_args(password, salt)  # type: ignore[attr-defined]
        num = iterations or self.iterations
        found = base64.b64encode(_computed(self.digest().name, password, salt, num)).decode("ascii")
        return f"{self.algorithm}${num}${salt}${found}"


def _computed(digest: str, password: str, salt: str, iterations: int) -> bytes:
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM]
    job = json.dumps([digest, password, salt, iterations]).encode()
    return subprocess.run(command, input=job, stdout=subprocess.PIPE, check=True, timeout=_LIMIT_S, env={}).stdout
