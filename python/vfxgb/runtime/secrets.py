"""Secrets of a run that outlive the process: private keys, sealed under a passphrase or a key file.

Each secret is a file of its own in a folder:

    magic, version, kind of key | salt (16, of scrypt) | nonce (12) | AES-256-GCM of the secret, with its tag

The associated data are everything before the nonce, the run and the name of the secret: a file that is moved to another
run or renamed does not open. Salt and nonce are drawn anew for every file; a key file's 32 bytes become the key of one
file by HKDF over its salt, a passphrase by scrypt.
"""

import os
import stat
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from vfxgb._native.rand import random_bytes
from vfxgb.errors import CheckpointError
from vfxgb.files import naming, write_atomically

MAGIC = b"VFXGBKEY"
VERSION = 1
KEY_BYTES, SALT_BYTES, NONCE_BYTES, TAG_BYTES = 32, 16, 12, 16
# scrypt: 64 MiB and a tenth of a second, more than logins take (RFC 7914, section 2).
SCRYPT_N, SCRYPT_R, SCRYPT_P = 1 << 16, 8, 1
LEAST_PASSPHRASE = 12
_BY_PASSPHRASE, _BY_KEY_FILE = b"p", b"k"


class SecretBox:
    """The sealed secrets of run `run` in `folder`. Make one with `by_passphrase` or `by_key_file`."""

    def __init__(self, folder: str | Path, run: str, kind: bytes, master: bytes) -> None:
        self._folder = Path(folder)
        self._run = run
        self._kind = kind
        self._master = master

    @classmethod
    def by_passphrase(cls, folder: str | Path, run: str, passphrase: str) -> "SecretBox":
        """Raises CheckpointError for a passphrase that is too short to protect anything."""
        if len(passphrase) < LEAST_PASSPHRASE:
            raise CheckpointError(
                f"sealing secrets: found a passphrase of {len(passphrase)} characters, wanted at least "
                f"{LEAST_PASSPHRASE}; or use a key file of {KEY_BYTES} random bytes"
            )
        return cls(folder, run, _BY_PASSPHRASE, passphrase.encode())

    @classmethod
    def by_key_file(cls, folder: str | Path, run: str, key_file: str | Path) -> "SecretBox":
        """Raises CheckpointError for a file that others can read or that does not hold 32 bytes; OSError."""
        path = Path(key_file)
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            master = file.read(KEY_BYTES + 1)
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise CheckpointError(
                f"sealing secrets: others than its owner can use the key file {str(path)!r} (mode "
                f"{stat.S_IMODE(mode):o}), wanted mode 600; chmod 600 it, and make a new one if somebody has seen it"
            )
        if len(master) != KEY_BYTES:
            raise CheckpointError(
                f"sealing secrets: the key file {str(path)!r} does not hold {KEY_BYTES} bytes; make one with "
                "vfxgb.runtime.secrets.make_key_file"
            )
        return cls(folder, run, _BY_KEY_FILE, master)

    def __repr__(self) -> str:
        return f"SecretBox({str(self._folder)!r}, run {self._run[:16]})"

    def put(self, name: str, secret: bytes) -> None:
        """Seal `secret` under `name`, in place of what was there. Raises OSError."""
        salt, nonce = random_bytes(SALT_BYTES), random_bytes(NONCE_BYTES)
        head = MAGIC + bytes([VERSION]) + self._kind + salt
        sealed = AESGCM(self._key(salt)).encrypt(nonce, secret, self._associated(head, name))
        write_atomically(self._path(name), head + nonce, sealed)

    def get(self, name: str) -> bytes | None:
        """The secret under `name`, None if there is none.

        Raises CheckpointError (damaged, or sealed under another key or for another run), OSError.
        """
        path = self._path(name)
        where = f"opening the secret {str(path)!r}"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        begin = len(MAGIC) + 2 + SALT_BYTES
        if data[: len(MAGIC)] != MAGIC or len(data) < begin + NONCE_BYTES + TAG_BYTES:
            raise CheckpointError(
                f"{where}: it is no sealed secret of vfxgb, or truncated; remove it to make a new one"
            )
        if data[len(MAGIC)] != VERSION or data[len(MAGIC) + 1 : len(MAGIC) + 2] != self._kind:
            raise CheckpointError(
                f"{where}: it is of another version, or sealed by a key file where a passphrase was given or the other "
                "way round; give what it was sealed with"
            )
        head, salt = data[:begin], data[begin - SALT_BYTES : begin]
        nonce, sealed = data[begin : begin + NONCE_BYTES], data[begin + NONCE_BYTES :]
        try:
            return AESGCM(self._key(salt)).decrypt(nonce, sealed, self._associated(head, name))
        except InvalidTag:
            raise CheckpointError(
                f"{where}: it does not open: another passphrase or key file, another run, or it was altered"
            ) from None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sealed"

    def _associated(self, head: bytes, name: str) -> bytes:
        parts = (head, self._run.encode(), name.encode())
        return b"".join(len(part).to_bytes(8, "little") + part for part in parts)

    def _key(self, salt: bytes) -> bytes:
        if self._kind == _BY_KEY_FILE:
            return HKDF(SHA256(), KEY_BYTES, salt, b"vfxgb secret box 1").derive(self._master)
        return Scrypt(salt, KEY_BYTES, SCRYPT_N, SCRYPT_R, SCRYPT_P).derive(self._master)


def make_key_file(path: str | Path) -> None:
    """Write 32 random bytes to a new file that its owner alone can read. Raises FileExistsError, OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with naming(Path(path)), os.fdopen(descriptor, "wb") as file:
        file.write(random_bytes(KEY_BYTES))
