"""Checkpoints: where a fit stands, kept beside its snapshots until it is published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import JsonValue

from mtlirt.engine.options import HIERARCHICAL, FitOptions
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import Root

FOLDER = "checkpoints"
FILE = "progress"
"""The SHA-256 of what follows it: arrays as NumPy writes them (npz)."""

DIGEST = sha256().digest_size

WHERE = ("threads", "memory_limit")
"""Options that do not change where a fit is going. Nor does ``max_rounds`` of `HIERARCHICAL` ones;
others start from fits that it ends."""


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of one fit, under a root of snapshots.

    Attributes
    ----------
    root
        The snapshots.
    key
        Tells fits apart: by inputs, options and version of this package.
    """

    root: Root
    key: str

    @classmethod
    def of(cls, root: Root, inputs: Sequence[JsonValue], options: FitOptions) -> Checkpoint:
        """That of a fit from some inputs, such as the id of the run that wrote the responses."""
        passed = (*WHERE, "max_rounds") if options.estimator in HIERARCHICAL else WHERE
        kept = {name: value for name, value in asdict(options).items() if name not in passed}
        told = [*inputs, version("mtlirt"), kept]
        return cls(root, sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16])

    @property
    def folder(self) -> str:
        """Its folder in the root."""
        return f"{FOLDER}/{self.key}"

    def save(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Replace what was kept."""
        data = BytesIO()
        np.savez(data, allow_pickle=False, **arrays)
        content = data.getvalue()
        self.root.put(f"{self.folder}/{FILE}", sha256(content).digest() + content)

    def load(self) -> dict[str, npt.NDArray[Any]] | None:
        """What was kept last; None where nothing was.

        Raises
        ------
        StorageError
            If it was damaged.
        """
        try:
            data = self.root.read_bytes(f"{self.folder}/{FILE}")
        except FileNotFoundError:
            return None
        digest, content = data[:DIGEST], data[DIGEST:]
        if sha256(content).digest() != digest:
            raise StorageError(
                f"{self.root.url}: {self.folder}/{FILE}: is damaged, or was altered since it was "
                "written (sha256); fit without resuming"
            )
        with np.load(BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)

    def remove(self) -> None:
        """Keep nothing any more."""
        self.root.remove_folder(self.folder)
