"""``mtlirt simulate``: a response store drawn from a design."""

from __future__ import annotations

from typing import Annotated

import typer

from mtlirt.cli.output import print_json


def simulate(
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Where the response store goes: a path or URL.", show_default=False
        ),
    ],
    design: Annotated[str, typer.Option(help="demo, mmlu, even, six or paper.")] = "demo",
    models: Annotated[
        int | None, typer.Option(help="Number of models, if not the design's own.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal responses.")] = 0,
    missing: Annotated[float, typer.Option(help="Probability that a cell is missing.")] = 0.0,
    domain_missing: Annotated[
        float, typer.Option(help="Probability that a model lacks a whole domain.")
    ] = 0.0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Add a version to a store that exists.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Draw responses, and the truth behind them, from a design."""
    from mtlirt.simulate.generate import simulate as draw

    simulation = draw(
        design, models=models, seed=seed, missing=missing, domain_missing=domain_missing
    )
    version = simulation.write(out, overwrite=overwrite)
    n_models, n_items = simulation.responses.shape
    n_domains = len(simulation.responses.domains)
    if as_json:
        print_json(
            {
                "store": out,
                "version": version,
                "models": n_models,
                "items": n_items,
                "domains": n_domains,
                **{key: simulation.options[key] for key in ("design", "seed")},
            }
        )
        return
    print(f"{n_models:,} models, {n_items:,} items, {n_domains:,} domains")
    print(f"wrote version {version} of {out}")
