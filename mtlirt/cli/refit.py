"""How verbs tell of a refit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtlirt.cli.board import board_records, print_board
from mtlirt.cli.output import print_json
from mtlirt.cli.stderr import warn

if TYPE_CHECKING:
    from mtlirt.jobs.refit import Refit
    from mtlirt.result import Fit


def print_refit(done: Refit, top: int, as_json: bool) -> None:
    """Print the top of the leaderboard, how the fit went and where it is."""
    from mtlirt.scores.leaderboard import leaderboard

    fitted = done.fitted
    if not fitted.info["converged"]:
        warn(
            f"not converged after {fitted.info['rounds']:,} rounds: in the last one parameters "
            f"moved by {fitted.history['change'].iloc[-1]:.1e} and the objective by "
            f"{fitted.history['objective'].diff().iloc[-1]:.1e}, tolerance "
            f"{fitted.info['tolerance']:g}; give more max-rounds or a larger tolerance"
        )
    board = leaderboard(fitted)
    summary = _summary(fitted)
    if as_json:
        places = {"store": done.responses, "store_version": done.responses_version}
        published = {
            "snapshots": done.snapshots,
            "version": done.version,
            "seconds": done.seconds,
        }
        print_json(places | published | summary | {"leaderboard": board_records(board, top)})
        return
    print_board(board, top)
    print(
        f"{'converged' if summary['converged'] else 'not converged'}: "
        f"{summary['rounds']:,} rounds in {done.seconds:,.1f} s, "
        f"log-likelihood {summary['log_likelihood']:,.2f}, rank {summary['rank']}"
    )
    print(
        f"{summary['constant_items']:,} of {summary['items']:,} items are constant, "
        f"{summary['weak_domains']:,} of {summary['domains']:,} domains are weak and "
        f"{summary['flat_domains']:,} flat, "
        f"{summary['models_without_data']:,} of {summary['models']:,} models have no data"
    )
    print(f"wrote version {done.version} of {done.snapshots}")


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
