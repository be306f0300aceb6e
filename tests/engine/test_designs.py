"""Design `mmlu` of the simulator at full size: errors against the truth that made the responses."""

import numpy as np
import pytest

from mtlirt.engine.fit import fit
from mtlirt.responses.matrix import Responses
from mtlirt.simulate.generate import simulate

SEEDS = range(1, 6)
LARGEST = 1534  # items of the longest domain


def standardised_truth(simulation):
    """True traits and slopes on the scale of a fit: mean 0, sd 1 over these models."""
    traits = simulation.truth.traits
    sd = traits.std(ddof=0)
    slopes = simulation.truth.items["slope"]
    return (traits - traits.mean()) / sd, slopes * slopes.index.get_level_values("domain").map(sd)


def trait_errors(fitted, truth):
    """Errors and standard deviations, models x domains."""
    mean = fitted.traits["mean"].unstack("domain")[truth.columns]
    sd = fitted.traits["sd"].unstack("domain")[truth.columns]
    return mean.to_numpy() - truth.to_numpy(), sd.to_numpy()


@pytest.mark.parametrize("seed", SEEDS)
def test_mmlu(seed):
    simulation = simulate("mmlu", seed=seed)
    truth, slopes = standardised_truth(simulation)
    fitted = fit(simulation.responses, rank=2)
    errors, sd = trait_errors(fitted, truth)
    rmse = np.sqrt(np.mean(errors**2))
    alone, _ = trait_errors(fit(simulation.responses, estimator="separate"), truth)
    assert fitted.info["converged"]
    assert fitted.info["rounds"] <= 6
    assert rmse <= 0.162
    assert rmse <= 0.90 * np.sqrt(np.mean(alone**2))
    assert np.sqrt(np.mean((fitted.items["slope"] - slopes) ** 2)) <= 0.050
    assert 0.94 <= np.mean(np.abs(errors) < 1.96 * sd) <= 0.96


def test_a_long_domain_alone():
    simulation = simulate("mmlu", seed=1)
    responses = simulation.responses
    name = max(responses.domains, key=lambda domain: responses.domains[domain].array.shape[1])
    assert responses.domains[name].array.shape == (4272, LARGEST)
    items = responses.items.loc[[name]]
    fitted = fit(Responses({name: responses.domains[name]}, responses.models, items))
    truth, _ = standardised_truth(simulation)
    errors, sd = trait_errors(fitted, truth[[name]])
    assert 0.93 <= np.mean(np.abs(errors) < 1.96 * sd) <= 0.97


def test_rank_auto_finds_two_factors_and_scattered_missing_cells_keep_the_coverage():
    simulation = simulate("mmlu", models=1500, seed=7, missing=0.3)
    keep = list(simulation.responses.domains)[:14]
    responses = Responses(
        {name: simulation.responses.domains[name] for name in keep},
        simulation.responses.models,
        simulation.responses.items.loc[keep],
    )
    fitted = fit(responses)
    truth, _ = standardised_truth(simulation)
    errors, sd = trait_errors(fitted, truth[keep])
    assert fitted.info["rank"] == 2
    assert 0.94 <= np.mean(np.abs(errors) < 1.96 * sd) <= 0.96
