"""The designs have the numbers they are named for, and their laws the moments."""

import numpy as np
import pytest

from mtlirt.errors import InputError
from mtlirt.simulate.cells import originals
from mtlirt.simulate.designs import DESIGNS, Design, find_design, numbered_design, paper_design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import (
    AngledTraits,
    FactorTraits,
    GroupedTraits,
    GuessedItems,
    NegativeItems,
    difficulty_items,
    intercept_items,
    uniform_items,
)

MMLU_COUNTS = """
100 135 152 100 265 144 100 100 100 173 102 100 235 114 145 378 126 100 310 203 100 165 198 193 390
270 238 151 545 216 204 237 223 131 121 108 163 112 103 234 100 346 895 306 311 324 282 1534 272 612
110 245 201 100 166 171
"""


def counts(design):
    return [count for _, count in design.domains]


@pytest.mark.parametrize(
    ("name", "domains", "items", "models"),
    [("mmlu", 56, 13_259, 4272), ("even", 56, 13_232, 4272), ("paper", 18, 1350, 100)],
)
def test_sizes(name, domains, items, models):
    design = find_design(name)
    assert (len(design.domains), sum(counts(design)), design.models) == (domains, items, models)


def test_mmlu_has_the_items_of_each_subject():
    assert counts(DESIGNS["mmlu"]) == [int(count) for count in MMLU_COUNTS.split()]


def test_even_is_even():
    assert set(counts(DESIGNS["even"])) == {236, 237}


def test_the_paper_repeats_six_lengths_three_times():
    assert counts(paper_design()) == [50, 60, 70, 80, 90, 100] * 3
    assert paper_design(h=0.5, models=200).traits == AngledTraits(0.5)
    assert paper_design(models=200).models == 200


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_domains_have_distinct_names(design):
    assert len(dict(design.domains)) == len(design.domains)


def test_demo_is_small():
    demo = DESIGNS["demo"]
    assert demo.models == 200
    assert all(40 <= count <= 200 for count in counts(demo))
    assert "arithmetic" in dict(demo.domains)


def test_an_unknown_design_lists_the_known():
    with pytest.raises(InputError, match=r"'other'.*demo, mmlu, even, six, paper"):
        find_design("other")


def assert_moments(values, mean, sd):
    assert np.mean(values) == pytest.approx(mean, abs=5 * sd / np.sqrt(len(values)))
    assert np.std(values) == pytest.approx(sd, rel=5 / np.sqrt(len(values)))


def test_laws_of_items():
    rng = np.random.default_rng(0)
    drawn = intercept_items(rng, 20_000)
    assert_moments(np.log(drawn.slope), 0, 0.3)
    assert_moments(drawn.intercept, 0.3, 1.2)
    drawn = difficulty_items(rng, 20_000)
    assert_moments(np.log(drawn.slope), 0, 0.3)
    assert_moments(-drawn.intercept / drawn.slope, 0, 1)
    drawn = uniform_items(rng, 20_000)
    assert_moments(drawn.slope, 1, 1 / np.sqrt(12))
    assert_moments(drawn.intercept, 0, 2 / np.sqrt(12))
    assert (drawn.slope.min(), drawn.slope.max()) == pytest.approx((0.5, 1.5), abs=1e-3)


def test_factor_traits_have_the_covariance_of_their_loadings():
    law = FactorTraits(rank=3, uniqueness=0.1225)
    drawn = law(np.random.default_rng(1), 40_000, 8)
    np.testing.assert_allclose(drawn.uniqueness, 0.1225)
    covariance = drawn.loadings @ drawn.loadings.T + np.diag(drawn.uniqueness)
    np.testing.assert_allclose(np.diag(covariance), 1)
    np.testing.assert_allclose(np.cov(drawn.traits.T), covariance, atol=0.03)
    np.testing.assert_allclose(drawn.traits.mean(axis=0), 0, atol=0.025)
    assert (drawn.loadings[:, 0] > 0).all()
    factors = np.column_stack(list(drawn.general.values()))
    np.testing.assert_allclose(np.cov(factors.T), np.eye(3), atol=0.03)
    residual = drawn.traits - factors @ drawn.loadings.T
    np.testing.assert_allclose(residual.var(axis=0), 0.1225, rtol=0.05)


def test_more_models_begin_with_the_same_ones():
    law = FactorTraits(rank=2, uniqueness=0.5)
    few, many = (law(np.random.default_rng(3), models, 4) for models in (10, 30))
    np.testing.assert_array_equal(few.traits, many.traits[:10])


@pytest.mark.parametrize("h", [0, 0.3, 1])
def test_angled_traits_have_their_angles(h):
    drawn = AngledTraits(h)(np.random.default_rng(2), 100, 18)
    np.testing.assert_allclose(drawn.traits.sum(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(drawn.traits, axis=0), 10)
    alpha = np.sqrt(drawn.uniqueness)
    assert alpha[0] == pytest.approx(h)
    assert (alpha <= h + 1e-12).all()
    cosines = np.clip(drawn.traits.T @ drawn.traits / 100, -1, 1)
    expected = drawn.loadings @ drawn.loadings.T + np.diag(drawn.uniqueness)
    np.testing.assert_allclose(cosines, expected, atol=1e-12)
    general = drawn.general["theta_G"]
    assert np.linalg.norm(general) == pytest.approx(10)
    if h == 0:
        np.testing.assert_allclose(general, drawn.traits[:, 0], atol=1e-9)
        np.testing.assert_allclose(np.diff(np.sort(general)).std(), 0, atol=1e-9)


def test_angled_traits_tell_what_they_need():
    with pytest.raises(InputError, match="need at least 20"):
        AngledTraits(0.3)(np.random.default_rng(0), 19, 18)
    with pytest.raises(InputError, match=r"expected a number in \[0, 1\]"):
        AngledTraits(1.5)


def cosines(traits):
    return traits.T @ traits / len(traits)


def grouped(centres, domains=18, models=100, seed=4, **others):
    return GroupedTraits(0.5, centres, **others)(np.random.default_rng(seed), models, domains)


@pytest.mark.parametrize(
    "law",
    [
        GroupedTraits(0.5, (11, 7)),
        GroupedTraits(0.5, (18,), sharing=2),
        GroupedTraits(0.5, (15,), strays=3),
        GroupedTraits(0.5, (), strays=18),
        GroupedTraits(0.5, (9, 5), sharing=3, strays=4),
    ],
)
def test_grouped_traits_are_centred_of_one_norm(law):
    drawn = law(np.random.default_rng(2), 100, 18)
    np.testing.assert_allclose(drawn.traits.sum(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(drawn.traits, axis=0), 10)
    assert np.linalg.norm(drawn.general["theta_G"]) == pytest.approx(10)
    variance = (drawn.loadings**2).sum(axis=1) + drawn.uniqueness
    np.testing.assert_allclose(variance, 1)


def test_domains_around_centres_are_at_their_angles():
    drawn = grouped((11, 7))
    expected = drawn.loadings @ drawn.loadings.T + np.diag(drawn.uniqueness)
    np.testing.assert_allclose(cosines(drawn.traits), expected, atol=1e-12)
    assert (expected[:11, 11:] == 0).all(), "the centres are orthogonal"
    assert drawn.uniqueness[0] == pytest.approx(0.25)
    assert (drawn.uniqueness <= 0.25 + 1e-12).all()
    assert (drawn.loadings[:11, 0] >= np.sqrt(0.75) - 1e-12).all()
    assert (drawn.loadings[11:, 1] >= np.sqrt(0.75) - 1e-12).all()


def test_the_second_centre_is_nearly_equispaced():
    drawn = GroupedTraits(0.0, (1, 1))(np.random.default_rng(0), 100, 2)
    steps = np.diff(np.sort(drawn.traits, axis=0), axis=0)
    np.testing.assert_allclose(steps[:, 0], 2 * np.sqrt(3) / 100, rtol=0.02)
    assert steps[:, 1].max() < 0.2


def test_domains_that_share_a_deviation_turn_within_a_plane():
    drawn = grouped((18,), sharing=2)
    residual = cosines(drawn.traits) - drawn.loadings @ drawn.loadings.T
    alpha = np.sqrt(drawn.uniqueness)
    pair = np.arange(18) // 2
    shared = pair[:, None] == pair
    np.testing.assert_allclose(np.abs(residual), shared * np.outer(alpha, alpha), atol=1e-12)
    signs = np.sign(residual[np.arange(0, 18, 2), np.arange(1, 18, 2)])
    assert set(signs) == {-1, 1}, "to the same side or to opposite ones"


def test_strays_are_near_no_other_domain():
    drawn = grouped((15,), strays=3)
    assert (drawn.loadings[15:] == 0).all()
    strange = np.abs(cosines(drawn.traits)[15:] - np.eye(18)[15:])
    assert strange.max() < 0.5
    assert np.sqrt(np.mean(strange**2)) == pytest.approx(0.1, abs=0.03)
    only = grouped((), strays=18)
    assert only.loadings.shape == (18, 0)
    assert np.abs(cosines(only.traits) - np.eye(18)).max() < 0.5


@pytest.mark.parametrize(
    ("law", "models", "told"),
    [
        (GroupedTraits(0.5, (10,)), 100, "18 domains: 10 around centres and 0 strays are 10"),
        (GroupedTraits(0.5, (9, 9)), 20, "20 models: 18 domains at angles need at least 21"),
        (GroupedTraits(0.5, (18,), sharing=2), 10, "10 models: .* need at least 11"),
    ],
)
def test_grouped_traits_tell_what_they_need(law, models, told):
    with pytest.raises(InputError, match=told):
        law(np.random.default_rng(0), models, 18)


def test_as_many_models_as_needed_are_enough():
    law = GroupedTraits(0.5, (18,), sharing=2)
    drawn = law(np.random.default_rng(0), 11, 18)
    np.testing.assert_allclose(np.linalg.norm(drawn.traits, axis=0), np.sqrt(11))


def test_laws_out_of_range_are_told():
    with pytest.raises(InputError, match=r"h -0.1: expected a number in \[0, 1\]"):
        GroupedTraits(-0.1, (3,))
    with pytest.raises(InputError, match="sharing 0: expected 1 domain or more"):
        GroupedTraits(0.1, (3,), sharing=0)
    with pytest.raises(InputError, match="share 2: expected a probability"):
        NegativeItems(2)
    with pytest.raises(InputError, match="floor 1: expected a probability"):
        GuessedItems(1)


def test_some_items_are_negatively_keyed():
    plain = uniform_items(np.random.default_rng(0), 20_000)
    drawn = NegativeItems(0.05)(np.random.default_rng(0), 20_000)
    np.testing.assert_array_equal(np.abs(drawn.slope), plain.slope)
    np.testing.assert_array_equal(drawn.intercept, plain.intercept)
    assert np.mean(drawn.slope < 0) == pytest.approx(0.05, abs=0.006)


def test_guessed_items_have_a_floor():
    plain = uniform_items(np.random.default_rng(0), 50)
    drawn = GuessedItems(0.25)(np.random.default_rng(0), 50)
    np.testing.assert_array_equal(drawn.slope, plain.slope)
    np.testing.assert_array_equal(drawn.guessing, np.full(50, 0.25))
    assert plain.guessing == 0


def test_numbered_designs():
    design = numbered_design("two", AngledTraits(0.1), (5, 7), models=30, items=GuessedItems(0.2))
    assert design.domains == (("d01", 5), ("d02", 7))
    assert (design.models, design.items) == (30, GuessedItems(0.2))


def test_six_is_what_metabench_distils():
    six = DESIGNS["six"]
    assert counts(six) == [844, 1306, 5711, 13000, 644, 1045]
    items = six.items(np.random.default_rng(0), 20_000)
    assert np.mean(items.slope < 0) == pytest.approx(0.04, abs=0.005)
    assert np.median(np.abs(items.slope)) == pytest.approx(1.5, abs=0.02)
    assert np.log(np.abs(items.slope)).std() == pytest.approx(0.5, abs=0.01)
    drawn = six.traits(np.random.default_rng(0), 20_000, 6)
    np.testing.assert_allclose(drawn.loadings**2, 0.79)


def test_clones_answer_as_their_originals():
    design = Design("clones", (("a", 2000),), 130, intercept_items, FactorTraits(1, 0.2), 7)
    simulation = simulate(design, seed=3)
    cells = simulation.responses.domains["a"].array.compute()
    traits = simulation.truth.traits["a"].to_numpy()
    sources = originals(130, 7)
    assert list(np.flatnonzero(sources != np.arange(130))) == [*range(57, 64), *range(121, 128)]
    assert list(sources[57:64]) == [0, 0, 0, 1, 1, 1, 2]
    np.testing.assert_array_equal(traits, traits[sources])
    agree = (cells[57:64] == cells[sources[57:64]]).mean(axis=1)
    assert ((agree > 0.96) & (agree < 1.0)).all()
    chunked = simulation.responses.domains["a"].array[60:70].compute()
    np.testing.assert_array_equal(chunked, cells[60:70])
