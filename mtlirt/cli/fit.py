"""``mtlirt fit``: a response store to a published snapshot."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mtlirt.cli.board import board_records, print_board
from mtlirt.cli.output import print_json
from mtlirt.cli.stderr import round_progress, warn

if TYPE_CHECKING:
    from mtlirt.result import Fit


def fit(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE", help="A response store: URL or URL@VERSION.", show_default=False
        ),
    ],
    snapshots: Annotated[
        str, typer.Option(metavar="URL", help="Where to publish: a path or URL.")
    ] = "./snapshots",
    estimator: Annotated[
        Literal["marginal", "separate"],
        typer.Option(help="marginal: factors tie the domains; separate: each by itself."),
    ] = "marginal",
    rank: Annotated[
        str, typer.Option(metavar="auto|R", help="Number of factors that tie the domains.")
    ] = "auto",
    no_priors: Annotated[
        bool, typer.Option("--no-priors", help="Plain maximum likelihood of the items.")
    ] = False,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Converged when no parameter x moves by this x (1 + |x|) in a round, and the "
            "objective by a thousandth of it."
        ),
    ] = 1e-3,
    max_rounds: Annotated[int, typer.Option(help="Stop after so many, converged or not.")] = 200,
    threads: Annotated[
        int | None, typer.Option(help="Threads, if not one a core.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Models to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Fit a response store and publish the fit."""
    from mtlirt.engine.fit import fit as fit_responses
    from mtlirt.responses.store import open_responses
    from mtlirt.scores.leaderboard import leaderboard
    from mtlirt.snapshots.publish import publish, snapshot_root
    from mtlirt.storage.root import open_version

    began = time.perf_counter()
    root, manifest = open_version(store, kind="responses")
    snapshot_root(snapshots)  # refuse what cannot be published to before the work
    with round_progress() as listener:
        fitted = fit_responses(
            open_responses(root.url, manifest.version),
            estimator=estimator,
            rank="auto" if rank == "auto" else _factors(rank),
            priors=not no_priors,
            tolerance=tolerance,
            max_rounds=max_rounds,
            threads=threads,
            listener=listener,
        )
    version = publish(
        fitted,
        snapshots,
        inputs={
            "responses": root.location,
            "version": manifest.version,
            "run_id": str(manifest.run_id),
        },
    )
    seconds = time.perf_counter() - began
    if not fitted.info["converged"]:
        warn(
            f"not converged after {fitted.info['rounds']:,} rounds: in the last one parameters "
            f"moved by {fitted.history['change'].iloc[-1]:.1e} and the objective by "
            f"{fitted.history['objective'].diff().iloc[-1]:.1e}, tolerance "
            f"{fitted.info['tolerance']:g}; give more --max-rounds or a larger --tolerance"
        )
    board = leaderboard(fitted)
    summary = _summary(fitted)
    if as_json:
        places = {"store": root.location, "store_version": manifest.version}
        published = {"snapshots": snapshots, "version": version, "seconds": seconds}
        print_json(places | published | summary | {"leaderboard": board_records(board, top)})
        return
    print_board(board, top)
    print(
        f"{'converged' if summary['converged'] else 'not converged'}: "
        f"{summary['rounds']:,} rounds in {seconds:,.1f} s, "
        f"log-likelihood {summary['log_likelihood']:,.2f}, rank {summary['rank']}"
    )
    print(
        f"{summary['constant_items']:,} of {summary['items']:,} items are constant, "
        f"{summary['weak_domains']:,} of {summary['domains']:,} domains are weak and "
        f"{summary['flat_domains']:,} flat, "
        f"{summary['models_without_data']:,} of {summary['models']:,} models have no data"
    )
    print(f"wrote version {version} of {snapshots}")


def _factors(rank: str) -> int:
    try:
        return int(rank)
    except ValueError:
        raise typer.BadParameter(
            f"{rank!r} is neither 'auto' nor a number from 1 up", param_hint="'--rank'"
        ) from None


def _summary(fitted: Fit) -> dict[str, Any]:
    """How the fit went."""
    names = ("estimator", "rank", "rounds", "converged", "log_likelihood")
    return {name: fitted.info[name] for name in names} | {
        "models": len(fitted.models),
        "models_without_data": int(fitted.models["overall"].isna().sum()),
        "items": len(fitted.items),
        "constant_items": int(fitted.items["constant"].sum()),
        "domains": len(fitted.domains),
        "weak_domains": int(fitted.domains["weak"].sum()),
        "flat_domains": int(fitted.domains["flat"].sum()),
    }
