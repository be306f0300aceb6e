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
        moved = fitted.history["objective"].diff().iloc[-1]
        warn(
            f"not converged after {fitted.info['rounds']:,} rounds: in the last one parameters "
            f"moved by {fitted.history['change'].iloc[-1]:.1e}"
            + (f" and the objective by {moved:.1e}" if len(fitted.history) > 1 else "")
            + f", tolerance {fitted.info['tolerance']:g}"
            + (" (of the objective a millionth of it)" if "penalty" in fitted.info else "")
            + "; give more max-rounds or a larger tolerance"
        )
    if fitted.info.get("models_left_out"):
        left_out = fitted.models.index[fitted.models["general"].isna()]
        warn(
            f"{len(left_out):,} models lack a domain and are left out: "
            f"{', '.join(left_out[:3])}{', ...' if len(left_out) > 3 else ''}"
        )
    unlinked = fitted.info.get("anchor", {}).get("unlinked_domains", [])
    if unlinked:
        warn(
            f"{len(unlinked):,} of {len(fitted.domains):,} domains are not on the anchor's scale "
            "but their own, also in overall scores: they are new, or too few items link them: "
            f"{', '.join(unlinked[:3])}{', ...' if len(unlinked) > 3 else ''}"
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
    print_board(board, top, fitted.info.get("models_left_out", 0))
    print(_outcome(fitted, done.seconds))
    print(
        f"{summary['constant_items']:,} of {summary['items']:,} items are constant, "
        f"{summary['weak_domains']:,} of {summary['domains']:,} domains are weak and "
        f"{summary['flat_domains']:,} flat, "
        f"{summary['models_without_data']:,} of {summary['models']:,} models have no data"
    )
    if summary["weighted_models"]:
        print(
            f"{summary['weighted_models']:,} of {summary['models']:,} models have a weight other "
            f"than 1; all count as {summary['weight']:,.6g}"
        )
    if "anchor" in fitted.info:
        print(
            f"on the anchor's scale through {summary['linked_items']:,} items; "
            f"{summary['drifted_items']:,} drifted and do not count"
        )
    print(f"wrote version {done.version} of {done.snapshots}")


def _outcome(fitted: Fit, seconds: float) -> str:
    """How the fit went, on one line."""
    info = fitted.info
    if info["estimator"] == "accuracy":
        return f"accuracies in {seconds:,.1f} s"
    word = "converged" if info["converged"] else "not converged"
    text = (
        f"{word}: {info['rounds']:,} rounds in {seconds:,.1f} s, "
        f"log-likelihood {info['log_likelihood']:,.2f}"
    )
    if info["estimator"] in ("marginal", "separate"):
        return f"{text}, rank {info['rank']}"
    if info["estimator"] == "joint":
        text += f", penalty {info['penalty']:g} ({info['penalty_chosen_by']})"
    return (
        f"{text}, {int(fitted.domains['fused'].sum()):,} of {len(fitted.domains):,} domains fused"
    )


def _summary(fitted: Fit) -> dict[str, Any]:
    """How the fit went."""
    names = ("estimator", "rank", "rounds", "converged", "log_likelihood")
    joint = ("penalty", "models_left_out", "objective")
    known = {name: fitted.info[name] for name in joint if name in fitted.info}
    counts = ("linked_items", "drifted_items")
    known |= {name: int(fitted.domains[name].sum()) for name in counts if name in fitted.domains}
    return (
        {name: fitted.info[name] for name in names}
        | known
        | {
            "models": len(fitted.models),
            "models_without_data": int(fitted.models["overall"].isna().sum())
            - int(fitted.info.get("models_left_out", 0)),
            "weighted_models": int((fitted.models["weight"] != 1.0).sum()),
            "weight": float(fitted.models["weight"].sum()),
            "items": len(fitted.items),
            "constant_items": int(fitted.items["constant"].sum()),
            "domains": len(fitted.domains),
            "weak_domains": int(fitted.domains["weak"].sum()),
            "flat_domains": int(fitted.domains["flat"].sum()),
        }
    )
