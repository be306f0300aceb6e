"""Which item a sample of a run is a response to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show
from mtlirt.ingest.report import ItemId
from mtlirt.ingest.runs import QUALIFIERS

OnContent = Literal["error", "report"]
Repeated = Literal["report", "first"]


def qualified(document: str, qualifiers: Mapping[str, str]) -> str:
    """The item id of a document: with what the log says of version, shots, split, filter, metric.

    ``17`` of version 1.0 with metric acc is ``17 version=1.0 metric=acc``: the same id wherever
    it is read, and not that of the document in another version.
    """
    return " ".join([document, *(f"{name}={value}" for name, value in qualifiers.items())])


def check_pool(names: Collection[str]) -> None:
    """Refuse to pool over anything but qualifiers."""
    strange = [name for name in names if name not in QUALIFIERS]
    if strange:
        raise InputError(f"pool is {show(strange[0])}, expected one of {', '.join(QUALIFIERS)}")


@dataclass
class ItemBook:
    """All items met, with what logs say of them.

    Attributes
    ----------
    on_content
        Whether an item whose content differs between runs is an error or listed.
    repeated
        Whether items of equal content are only listed, or count as the first of them.
    differing
        Items whose content differed.
    """

    on_content: OnContent = "error"
    repeated: Repeated = "report"
    differing: dict[ItemId, None] = field(default_factory=dict)
    _facts: dict[ItemId, dict[str, str]] = field(default_factory=dict)
    _contents: dict[ItemId, tuple[str, str]] = field(default_factory=dict)
    _first: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def enter(
        self,
        domain: str,
        document: str,
        qualifiers: Mapping[str, str],
        content: str | None,
        source: str,
    ) -> str:
        """The item id of a document, which is taken down.

        Raises
        ------
        InputError
            If its content is not that of an earlier run.
        """
        item = qualified(document, qualifiers)
        key = domain, item
        if key not in self._facts:
            self._facts[key] = {"task": domain, "document": document, **qualifiers}
        if content is None:
            return item
        known, where = self._contents.setdefault(key, (content, source))
        if known != content:
            if self.on_content == "error":
                raise InputError(
                    f"{source}: item {show(item)} of domain {show(domain)} is not what it is in "
                    f"{where} (its content differs): read them with task versions apart, or "
                    "choose content report (--content report)"
                )
            self.differing[key] = None
        if self.repeated == "first":
            same = domain, content, qualified("", qualifiers)
            return self._first.setdefault(same, item)
        return item

    def remember(self, items: pd.DataFrame, source: str) -> None:
        """Take down the items of a store, as `table` gave what logs said of them."""
        if not {"task", "document", "content"} <= set(items.columns):
            return
        known = [name for name in QUALIFIERS if name in items.columns]
        facts = items[["document", "content", *known]].astype(object)
        for (domain, item), (document, content, *values) in zip(
            items.index, facts.where(facts.notna(), None).itertuples(index=False), strict=True
        ):
            told = {k: v for k, v in zip(known, values, strict=True) if v is not None}
            if isinstance(content, str) and qualified(str(document), told) == item:
                self.enter(domain, document, told, content, source)

    def copies(self) -> tuple[tuple[ItemId, ...], ...]:
        """Groups of items of equal content, within domains and across them."""
        groups: defaultdict[str, dict[tuple[str, str], ItemId]] = defaultdict(dict)
        for (domain, item), (content, _) in self._contents.items():
            groups[content].setdefault(
                (domain, self._facts[domain, item]["document"]), (domain, item)
            )
        return tuple(
            tuple(sorted(members.values())) for members in groups.values() if len(members) > 1
        )

    def table(self, items: pd.Index) -> pd.DataFrame:
        """What is known of some items, a column a fact that any of them has."""
        names = ["task", "document", *QUALIFIERS, "content"]
        nothing: dict[str, str] = {}
        rows = [self._facts.get(item, nothing) | self._content(item) for item in items]
        table = pd.DataFrame.from_records(rows, index=items, columns=names).astype(object)
        return table.where(table.notna(), None).dropna(axis=1, how="all")

    def _content(self, item: Any) -> dict[str, str]:
        return {"content": self._contents[item][0]} if item in self._contents else {}
