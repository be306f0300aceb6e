"""Which item a sample of a run is a response to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
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


@dataclass(frozen=True)
class _Form:
    """The documents of a domain that share their qualifiers.

    Attributes
    ----------
    ending
        What their item ids have behind the document.
    documents
        The content of each and the source that told it, where one did.
    first
        The first document of each content.
    """

    domain: str
    qualifiers: Mapping[str, str]
    ending: str
    documents: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)


@dataclass
class ItemBook:
    """All items met, with what logs say of them: 260 bytes an item of which a SHA-256 is known.

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
    _forms: dict[tuple[str, str], _Form] = field(default_factory=dict)

    def enter(
        self,
        domain: str,
        qualifiers: Mapping[str, str],
        source: str,
        documents: Sequence[str],
        contents: Sequence[str | None] | None,
    ) -> list[str]:
        """The item ids of some documents of a source, which are taken down.

        Raises
        ------
        InputError
            If the content of one is not that of an earlier run.
        """
        ending = qualified("", qualifiers)
        form = self._forms.setdefault((domain, ending), _Form(domain, qualifiers, ending))
        if contents is None:
            for document in documents:
                form.documents.setdefault(document, None)
            return [document + ending for document in documents]
        items = []
        for document, content in zip(documents, contents, strict=True):
            known = form.documents.setdefault(document, None)
            if content is not None:
                if known is None:
                    form.documents[document] = content, source
                elif known[0] != content:
                    self._note_difference(form, document, known[1], source)
                if self.repeated == "first":
                    document = form.first.setdefault(content, document)
            items.append(document + ending)
        return items

    def standing(
        self,
        domain: str,
        qualifiers: Mapping[str, str],
        documents: Sequence[str],
        contents: Sequence[str | None],
    ) -> list[int]:
        """Positions of a run's documents so that of equal content the one that counts is first.

        That is the one that stood for it in runs before, else the first by length of its id and
        the id: lines of a log may be in any order.
        """
        form = self._forms.get((domain, qualified("", qualifiers)))
        first = {} if form is None else form.first

        def key(position: int) -> tuple[bool, int, str]:
            document, content = documents[position], contents[position]
            known = None if content is None else first.get(content)
            return known is not None and known != document, len(document), document

        return sorted(range(len(documents)), key=key)

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
                self.enter(domain, told, source, [str(document)], [content])

    def copies(self) -> tuple[tuple[ItemId, ...], ...]:
        """Groups of items of equal content, within domains and across them."""
        met: set[str] = set()
        shared = {
            content
            for content, _, _ in self._told()
            if content in met or met.add(content)  # type: ignore[func-returns-value]
        }
        groups: defaultdict[str, dict[tuple[str, str], ItemId]] = defaultdict(dict)
        for content, document, form in self._told():
            if content in shared:
                item = form.domain, document + form.ending
                groups[content].setdefault((form.domain, document), item)
        return tuple(
            tuple(sorted(members.values())) for members in groups.values() if len(members) > 1
        )

    def table(self, items: pd.Index) -> pd.DataFrame:
        """What is known of some items, a column a fact that any of them has."""
        forms: defaultdict[str, list[_Form]] = defaultdict(list)
        for form in self._forms.values():
            forms[form.domain].append(form)
        names = ["task", "document", *QUALIFIERS, "content"]
        columns = {name: np.full(len(items), None, object) for name in names}
        levels = (items.get_level_values(level) for level in (0, 1))
        for position, (domain, item) in enumerate(zip(*levels, strict=True)):
            for form in forms[domain]:
                document = item.removesuffix(form.ending)
                if item.endswith(form.ending) and document in form.documents:
                    columns["task"][position] = form.domain
                    columns["document"][position] = document
                    columns["content"][position] = (form.documents[document] or (None,))[0]
                    for name, value in form.qualifiers.items():
                        columns[name][position] = value
                    break
        told = {name: column for name, column in columns.items() if column.any()}
        return pd.DataFrame(told, index=items, dtype=object)

    def _told(self) -> Iterator[tuple[str, str, _Form]]:
        """The contents that are known, each with its document."""
        for form in self._forms.values():
            for document, known in form.documents.items():
                if known is not None:
                    yield known[0], document, form

    def _note_difference(self, form: _Form, document: str, where: str, source: str) -> None:
        item = document + form.ending
        if self.on_content == "error":
            raise InputError(
                f"{source}: item {show(item)} of domain {show(form.domain)} is not what it is in "
                f"{where} (its content differs): read them with task versions apart, or "
                "choose content report (--content report)"
            )
        self.differing[form.domain, item] = None
