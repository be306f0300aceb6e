"""A simulation: responses, and the truth they were drawn from."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.responses.matrix import Responses
from mtlirt.responses.schema import ITEMS, MODELS, table_from_frame
from mtlirt.responses.store import write_responses
from mtlirt.storage.root import open_root
from mtlirt.storage.tables import to_parquet

DOMAIN = pa.schema([pa.field("domain", pa.string(), nullable=False)])


@dataclass(frozen=True)
class Truth:
    """The parameters that responses were drawn from.

    Attributes
    ----------
    items
        Index (``domain``, ``item_id``); ``slope``, ``intercept``, ``guessing``.
    traits
        Index ``model_id``; a column a domain.
    domains
        Index ``domain``; ``loading_1``, ..., ``uniqueness``.
    general
        Index ``model_id``; ``factor_1``, ... or, in the design `paper`, ``theta_G``.
    """

    items: pd.DataFrame
    traits: pd.DataFrame
    domains: pd.DataFrame
    general: pd.DataFrame

    def to_files(self) -> dict[str, bytes]:
        """The tables as Parquet files by name."""
        tables = {
            "items.parquet": table_from_frame(self.items, ITEMS),
            "traits.parquet": table_from_frame(self.traits, MODELS),
            "domains.parquet": table_from_frame(self.domains, DOMAIN),
            "general.parquet": table_from_frame(self.general, MODELS),
        }
        return {name: to_parquet(table) for name, table in tables.items()}


@dataclass(frozen=True)
class Simulation:
    """Simulated responses with their truth.

    Attributes
    ----------
    responses
        Lazy; drawn when computed.
    truth
        What they are drawn from.
    options
        The arguments that `simulate` was called with.
    """

    responses: Responses
    truth: Truth
    options: dict[str, str | int | float]

    def write(self, url: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Write the responses as a store, and the truth beside it.

        The truth goes to the folder ``<url>-truth`` as ``items.parquet``, ``traits.parquet``,
        ``domains.parquet`` and ``general.parquet``, the tables of `Truth`. It has no versions:
        it is that of the version written last.

        Parameters
        ----------
        url
            A local path or URL.
        overwrite
            Add a version to a store that exists, and replace the truth.

        Returns
        -------
        int
            The version of the store.
        """
        url = os.fspath(url)
        truth = open_root(f"{url.rstrip('/')}-truth")
        if truth.names("") and not overwrite:
            raise InputError(f"{truth.url}: exists already; give another place, or overwrite")
        history = {"source": "simulation", **self.options}
        version = write_responses(self.responses, url, history=history, overwrite=overwrite)
        for name, content in self.truth.to_files().items():
            truth.put(name, content)
        return version
