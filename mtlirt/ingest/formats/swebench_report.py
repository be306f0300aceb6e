"""What became of each instance, as a report of SWE-bench's harness tells."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show
from mtlirt.ingest.runs import Samples

_SCORES = {"resolved": 1, "unresolved": 0, "empty patch": 0}
_PLAIN = ("resolved", "unresolved")
_COUNTED = ("resolved", "unresolved", "empty_patch", "error")


@dataclass(frozen=True)
class Outcomes:
    """What became of the instances of a report.

    Attributes
    ----------
    of
        Instance -> resolved, unresolved, empty patch, errored, not submitted, without a result.
    partial
        How many were not submitted; empty if all were.
    """

    of: dict[str, str]
    partial: str

    def samples(self) -> Samples:
        """Resolved is 1; unresolved and an empty patch are 0; all else is missing."""
        told = list(self.of.values())
        return Samples(
            list(self.of),
            [_SCORES.get(outcome) for outcome in told],
            range(1, len(told) + 1),
            outcomes=Counter(outcome for outcome in told if outcome not in _PLAIN),
            unit="entry",
        )


class Report(msgspec.Struct, kw_only=True):
    """The fields of a report that are read; ``failed_ids`` is what sb-cli calls errors."""

    model_name_or_path: str | None = None
    total_instances: int | None = None
    resolved_instances: int | None = None
    unresolved_instances: int | None = None
    empty_patch_instances: int | None = None
    error_instances: int | None = None
    resolved_ids: list[str] | None = None
    unresolved_ids: list[str] | None = None
    empty_patch_ids: list[str] | None = None
    error_ids: list[str] | None = None
    failed_ids: list[str] | None = None
    submitted_ids: list[str] | None = None
    completed_ids: list[str] | None = None
    incomplete_ids: list[str] | None = None

    def outcomes(self, source: str) -> Outcomes:
        """What became of each instance that the report lists anywhere.

        Raises
        ------
        InputError
            If it lists only the resolved ones, or contradicts itself.
        """
        self._check_counts(source)
        resolved, empty = self._ids("resolved"), self._ids("empty_patch")
        errored = self._ids("error") | self._ids("failed")
        if self.unresolved_ids is not None:
            unresolved = self._ids("unresolved")
        elif self.completed_ids is not None:
            unresolved = self._ids("completed") - resolved - errored
        else:
            raise InputError(
                f"{source}: lists the resolved instances but not the unresolved ones "
                "(unresolved_ids or completed_ids), so who failed at what cannot be known"
            )
        of: dict[str, str] = {}
        for outcome, ids in (
            ("resolved", resolved),
            ("unresolved", unresolved - empty),
            ("empty patch", empty),
            ("errored", errored),
        ):
            for instance in sorted(ids):
                if instance in of:
                    raise InputError(
                        f"{source}: instance {show(instance)} is both {of[instance]} and {outcome}"
                    )
                of[instance] = outcome
        known = len(of)
        submitted = self._ids("submitted") | self._ids("completed")
        for instance in sorted((submitted | self._ids("incomplete")) - of.keys()):
            of[instance] = "without a result" if instance in submitted else "not submitted"
        if self.total_instances is not None and len(of) > self.total_instances:
            raise InputError(
                f"{source}: total_instances is {self.total_instances}, but it names {len(of)}"
            )
        total = self.total_instances or len(of)
        absent = total - known - sum(outcome == "without a result" for outcome in of.values())
        return Outcomes(of, f"{absent} of {total} instances not submitted" if absent else "")

    def _ids(self, name: str) -> set[str]:
        return set(getattr(self, f"{name}_ids") or ())

    def _check_counts(self, source: str) -> None:
        if self.empty_patch_instances and self.empty_patch_ids is None:
            raise InputError(
                f"{source}: empty_patch_instances is {self.empty_patch_instances}, but there are "
                "no empty_patch_ids, so which are wrong cannot be known"
            )
        for name in _COUNTED:
            ids, stated = getattr(self, f"{name}_ids"), getattr(self, f"{name}_instances")
            if ids is not None and stated is not None and len(set(ids)) != stated:
                raise InputError(
                    f"{source}: {name}_instances is {stated}, but {name}_ids has {len(set(ids))}"
                )
