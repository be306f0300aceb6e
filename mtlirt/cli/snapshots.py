"""``mtlirt snapshots``: which snapshots there are, whether they are sound, and what changed."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mtlirt.cli.diff import diff
from mtlirt.cli.output import print_json, print_table

if TYPE_CHECKING:
    from mtlirt.snapshots.history import Summary
    from mtlirt.snapshots.verify import VersionCheck

FAILED = 1
COLUMNS = (
    "version",
    "created (UTC)",
    "models",
    "items",
    "domains",
    "estimator",
    "rank",
    "rounds",
    "converged",
    "log-likelihood",
    "fitted to",
    "bytes",
)

Url = Annotated[
    str, typer.Argument(metavar="URL", help="The root of the snapshots.", show_default=False)
]
VersionUrl = Annotated[
    str,
    typer.Argument(metavar="URL[@VERSION]", help="The root of the snapshots.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

snapshots = typer.Typer(help="List, show, verify and compare snapshots.")


@snapshots.command("list")
def list_snapshots(url: Url, as_json: AsJson = False) -> None:
    """List all versions, the newest last."""
    from mtlirt.snapshots.history import BrokenVersion, list_versions

    versions = list_versions(url)
    broken = [version for version in versions if isinstance(version, BrokenVersion)]
    if as_json:
        print_json(_jsonable(versions))
    else:
        rows = [
            (version.version, "broken", *["-"] * (len(COLUMNS) - 2))
            if isinstance(version, BrokenVersion)
            else _row(version)
            for version in versions
        ]
        print_table(COLUMNS, rows)
        for version in broken:
            print(f"version {version.version} is broken: its manifest: {version.reason}")
    if broken:
        raise typer.Exit(FAILED)


@snapshots.command("show")
def show_snapshot(url: VersionUrl, as_json: AsJson = False) -> None:
    """Show all that is recorded of one version, the latest if none is named."""
    from mtlirt.snapshots.history import describe

    details = describe(url)
    if as_json:
        content = _jsonable(details)
        print_json(content.pop("summary") | content)
        return
    rows = dict(zip(COLUMNS, _row(details.summary), strict=True)) | {
        "parent": details.parent,
        "run id": details.run_id,
        "seconds of its rounds": f"{details.seconds:,.1f}",
    }
    summarized = {field.name for field in fields(details.summary)}
    for kind in ("fit", "inputs", "software"):
        recorded = getattr(details, kind).items()
        rows |= {f"{kind}: {name}": value for name, value in recorded if name not in summarized}
    print_table(("what", "value"), [(what, _cell(value)) for what, value in rows.items()])
    print()
    files = [(file.name, _cell(file.rows), file.bytes, file.sha256) for file in details.files]
    print_table(("file", "rows", "bytes", "sha256"), files)


@snapshots.command("verify")
def verify_snapshots(url: VersionUrl, as_json: AsJson = False) -> None:
    """Verify all versions, or the one that is named, byte by byte."""
    from mtlirt.snapshots.verify import orphans, verify
    from mtlirt.storage.url import split_version

    checks = []
    for check in verify(url):
        checks.append(check)
        if not as_json:
            _print_check(check)
    content: dict[str, Any] = {"versions": checks}
    if split_version(url)[1] is None:
        content["orphans"] = orphans(url)
        if not as_json:
            _print_orphans(content["orphans"])
    if as_json:
        print_json(_jsonable(content))
    if any(check.problems for check in checks):
        raise typer.Exit(FAILED)


snapshots.command("diff")(diff)


def _row(summary: Summary) -> tuple[object, ...]:
    """The cells of a version, as `COLUMNS` heads them."""
    likelihood = summary.log_likelihood
    return (
        summary.version,
        f"{summary.created.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        _cell(summary.models),
        _cell(summary.items),
        _cell(summary.domains),
        _cell(summary.estimator),
        _cell(summary.rank),
        _cell(summary.rounds),
        _cell(summary.converged),
        _cell(f"{likelihood:,.2f}" if isinstance(likelihood, float) else likelihood),
        _cell(summary.responses),
        summary.bytes,
    )


def _cell(value: object) -> object:
    """A value that may be absent."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else value


def _print_check(check: VersionCheck) -> None:
    count = len(check.problems)
    found = "verified" if not count else "1 problem" if count == 1 else f"{count:,} problems"
    print(f"version {check.version}: {check.files:,} files, {check.bytes:,} bytes: {found}")
    for problem in check.problems:
        print(f"  {problem.file}: {problem.reason}")


def _print_orphans(folders: list[str] | None) -> None:
    if folders is None:
        print("note: data folders of no version are not counted: a manifest is broken")
    elif folders:
        print(
            f"note: data folders of no version: {len(folders):,} "
            "(their writers were killed, or are at work)"
        )


def _jsonable(content: object) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(content)
