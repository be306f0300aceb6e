"""What the head of the report says: facts of the fit, its scale, and what it does not have."""

from __future__ import annotations

from datetime import UTC

from mtlirt.report.board import LEVEL, has_posterior
from mtlirt.result import Fit
from mtlirt.scores.components import components
from mtlirt.snapshots.history import Details


def facts(fit: Fit, details: Details | None) -> dict[str, str]:
    """What was fitted, by name."""
    info, models, items = fit.info, fit.models, fit.items
    answered, cells = int(models["answered"].sum()), len(models) * len(items)
    scored, constant = int(models["overall"].notna().sum()), int(items["constant"].sum())
    left_out = info.get("models_left_out")
    absent = "left out, for they lack a domain" if left_out else "without a score"
    told = {} if details is None else _published(details)
    told |= {
        "Estimator": str(info["estimator"]),
        "Models": _counted(len(models), len(models) - scored, absent),
        "Items": _counted(len(items), constant, "constant"),
        "Domains": f"{len(fit.domains):,}",
        "Answers": f"{answered:,} ({100 * answered / max(cells, 1):.4g} % of all cells)",
        "Rounds": f"{info['rounds']:,}",
        "Converged": "yes" if info["converged"] else "no",
    }
    if info.get("rank") is not None:
        told["Factors"] = str(info["rank"])
    if info.get("penalty") is not None:
        told["Penalty"] = f"{info['penalty']:g}"
    if info.get("log_likelihood") is not None:
        told["Log-likelihood"] = f"{info['log_likelihood']:,.2f}"
    return told


def warnings(fit: Fit) -> list[str]:
    """What makes the numbers doubtful as a whole."""
    said = []
    if not fit.info["converged"]:
        said.append("The fit did not converge: parameters were still moving in its last round.")
    if not fit.info["settled"]:
        said.append("The models' traits did not settle: use them with care.")
    apart = components(fit).max()
    if apart > 1:
        said.append(
            f"There are {apart:,} components of models that share no item, directly or through a "
            "chain. Models of different components are not ranked against each other."
        )
    return said


def scale(fit: Fit) -> list[str]:
    """What traits and intervals mean, a paragraph each."""
    posterior = has_posterior(fit)
    overall = (
        "the mean of a model's traits over the domains"
        if posterior
        else "the general trait, of which the domains' traits are versions"
    )
    traits = (
        "Traits are in standard deviations of the models of this fit: in every domain 0 is their "
        f"mean and 1 one standard deviation. The overall score is {overall}. Scores of another "
        "fit, of other models, are on another scale."
    )
    if not posterior:
        return [traits]
    intervals = (
        f"Intervals are of {100 * LEVEL:g} %: how far the answers of a model determine its score. "
        "Where two overlap much, the order of the two models is not settled. Rank intervals "
        "come from orders drawn from all models' posteriors; models of one tie group cannot "
        "be told from its best. A trait marked * is borrowed: the model answered nothing in "
        "that domain, and the other domains predict it."
    )
    return [traits, intervals]


def missing(fit: Fit) -> dict[str, str]:
    """Parts that this fit does not have, and why, by the name of the part."""
    by = f"the estimator {fit.info['estimator']!r}"
    reasons = {}
    if not has_posterior(fit):
        reasons["intervals"] = (
            f"{by} gives no standard deviations, so there are no intervals, rank intervals, tie "
            "groups or expected accuracies"
        )
        reasons["correlations"] = f"{by} has no model of how traits correlate"
    elif len(fit.domains) < 2:
        reasons["correlations"] = "there is one domain only"
    elif not fit.prior.tied.any():
        reasons["correlations"] = "the domains were fitted apart from each other"
    if fit.items["slope"].isna().all():
        reasons["items"] = f"{by} gives items no slopes"
    elif fit.items["difficulty"].isna().all():
        reasons["items"] = "no item has a difficulty: all slopes are near 0"
    if fit.items["slope"].isna().all():
        reasons["information"] = f"{by} gives items no slopes"
    if fit.history.empty:
        reasons["history"] = f"{by} has no rounds"
    return {part: f"{reason[:1].upper()}{reason[1:]}." for part, reason in reasons.items()}


def _published(details: Details) -> dict[str, str]:
    """What the manifest records; of the responses the last part of their place, not all of it."""
    summary = details.summary
    told = {
        "Version": f"{summary.version:,}",
        "Published": f"{summary.created.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC",
        "Run": str(details.run_id),
    }
    if summary.responses is not None:
        told["Fitted to"] = summary.responses.rstrip("/").rsplit("/", 1)[-1]
    told["Software"] = ", ".join(f"{name} {found}" for name, found in details.software.items())
    return told


def _counted(total: int, some: int, which: str) -> str:
    return f"{total:,} ({some:,} {which})" if some else f"{total:,}"
