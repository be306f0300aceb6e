"""Numbers for items: pairs of a domain and an item id."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

Int32s = npt.NDArray[np.int32]

_LARGEST_TABLE = 1 << 24


class ItemCodes:
    """Numbers for items in the order in which they are met.

    Attributes
    ----------
    codes
        (Code of the domain, code of the item id) -> code of the item.
    """

    def __init__(self) -> None:
        self.codes: dict[tuple[int, int], int] = {}
        self._table = np.empty((0, 0), np.int32)

    def encode(self, domains: Int32s, ids: Int32s, domain_count: int, id_count: int) -> Int32s:
        """Codes of items.

        Parameters
        ----------
        domains, ids
            Codes of the domain and the item id of each record.
        domain_count, id_count
            What these codes are below. While there are few pairs of them, a table that holds all is
            looked into; otherwise the pairs are hashed, at ten times the cost or more.
        """
        if domain_count * id_count > _LARGEST_TABLE:
            places, distinct = pd.factorize(domains.astype(np.int64) * id_count + ids)
            return self._number(distinct, id_count).take(places)
        self._fit_table(domain_count, id_count)
        keys = domains * np.int32(id_count) + ids
        codes = self._table.take(keys)
        unmet = codes < 0
        if not unmet.any():
            return codes
        distinct = np.unique(keys[unmet])
        self._table.ravel()[distinct] = self._number(distinct, id_count)
        return self._table.take(keys)

    def _fit_table(self, domain_count: int, id_count: int) -> None:
        """Make room in the table for all pairs."""
        if self._table.shape != (domain_count, id_count):
            table = np.full((domain_count, id_count), -1, np.int32)
            domains, ids = self._table.shape
            table[:domains, :ids] = self._table
            self._table = table

    def _number(self, keys: npt.NDArray[np.integer], id_count: int) -> Int32s:
        """The codes of distinct pairs, new ones for those not met before."""
        pairs = (divmod(key, id_count) for key in keys.tolist())
        codes = [self.codes.setdefault(pair, len(self.codes)) for pair in pairs]
        return np.array(codes, np.int32)
