"""Named designs: which domains with how many items, and the laws of items and traits."""

from __future__ import annotations

from dataclasses import dataclass

from mtlirt.errors import InputError
from mtlirt.simulate.laws import (
    AngledTraits,
    FactorTraits,
    ItemLaw,
    SteepItems,
    TraitLaw,
    difficulty_items,
    intercept_items,
    uniform_items,
)


@dataclass(frozen=True)
class Design:
    """What a simulation is drawn from.

    Attributes
    ----------
    name
        How it is asked for.
    domains
        Name and number of items of each domain.
    models
        Number of models unless told otherwise.
    items
        The law of slopes and intercepts, the same in every domain.
    traits
        The law of the models' traits.
    clones
        Of each `STRIP` models the last so many are copies of others in it, in groups of up to
        `CLONES` and their original: they have its traits, and all but some of its answers.
    """

    name: str
    domains: tuple[tuple[str, int], ...]
    models: int
    items: ItemLaw
    traits: TraitLaw
    clones: int = 0


MMLU_DOMAINS = (
    ("abstract_algebra", 100),
    ("anatomy", 135),
    ("astronomy", 152),
    ("business_ethics", 100),
    ("clinical_knowledge", 265),
    ("college_biology", 144),
    ("college_chemistry", 100),
    ("college_computer_science", 100),
    ("college_mathematics", 100),
    ("college_medicine", 173),
    ("college_physics", 102),
    ("computer_security", 100),
    ("conceptual_physics", 235),
    ("econometrics", 114),
    ("electrical_engineering", 145),
    ("elementary_mathematics", 378),
    ("formal_logic", 126),
    ("global_facts", 100),
    ("high_school_biology", 310),
    ("high_school_chemistry", 203),
    ("high_school_computer_science", 100),
    ("high_school_european_history", 165),
    ("high_school_geography", 198),
    ("high_school_government_and_politics", 193),
    ("high_school_macroeconomics", 390),
    ("high_school_mathematics", 270),
    ("high_school_microeconomics", 238),
    ("high_school_physics", 151),
    ("high_school_psychology", 545),
    ("high_school_statistics", 216),
    ("high_school_us_history", 204),
    ("high_school_world_history", 237),
    ("human_aging", 223),
    ("human_sexuality", 131),
    ("international_law", 121),
    ("jurisprudence", 108),
    ("logical_fallacies", 163),
    ("machine_learning", 112),
    ("management", 103),
    ("marketing", 234),
    ("medical_genetics", 100),
    ("moral_disputes", 346),
    ("moral_scenarios", 895),
    ("nutrition", 306),
    ("philosophy", 311),
    ("prehistory", 324),
    ("professional_accounting", 282),
    ("professional_law", 1534),
    ("professional_medicine", 272),
    ("professional_psychology", 612),
    ("public_relations", 110),
    ("security_studies", 245),
    ("sociology", 201),
    ("us_foreign_policy", 100),
    ("virology", 166),
    ("world_religions", 171),
)
"""The subjects of MMLU without "miscellaneous", with their numbers of test items."""

DEMO = Design(
    name="demo",
    domains=(
        ("arithmetic", 120),
        ("coding", 60),
        ("commonsense", 160),
        ("reading", 100),
        ("science", 200),
        ("truthfulness", 40),
    ),
    models=200,
    items=intercept_items,
    traits=FactorTraits(rank=2, uniqueness=0.2),
)
"""A small leaderboard."""

MMLU = Design(
    name="mmlu",
    domains=MMLU_DOMAINS,
    models=4272,
    items=intercept_items,
    traits=FactorTraits(rank=2, uniqueness=0.1225),
)
"""The size and unevenness of MMLU on a large leaderboard: 56 domains, 13,259 items."""

EVEN = Design(
    name="even",
    domains=tuple((f"d{k + 1:02d}", 237 if k < 16 else 236) for k in range(56)),
    models=4272,
    items=difficulty_items,
    traits=FactorTraits(rank=4, uniqueness=0.1225),
)
"""56 domains of 236 or 237 items, 13,232 in all, and four factors.

Loadings and uniqueness as in `mmlu`, with two more weak factors.
"""


SIX = Design(
    name="six",
    domains=(
        ("arc", 844),
        ("gsm8k", 1306),
        ("hellaswag", 5711),
        ("mmlu", 13000),
        ("truthfulqa", 644),
        ("winogrande", 1045),
    ),
    models=5000,
    items=SteepItems(1.5, 0.04),
    traits=FactorTraits(rank=1, uniqueness=0.21),
    clones=6,
)
"""The six benchmarks that metabench (arXiv 2407.12844) distils, in their sizes.

One factor of 79 % of the traits' variance; steep items, 4 % of them negatively keyed, and so many
easy and hard ones that full scores have a standard deviation of 13 points (7 to 20 on the Open LLM
Leaderboard); and models that are copies.
"""


PAPER_COUNTS = (50, 60, 70, 80, 90, 100) * 3
"""The numbers of items of the paper's domains."""


def paper_design(h: float = 0.3, models: int = 100) -> Design:
    """The simulation of Xie, Xu, Feng and Chen (arXiv 2610.05613): 18 domains of 50-100 items.

    Parameters
    ----------
    h
        How far traits may turn away from their common direction: the largest sine.
    models
        Number of models.
    """
    return numbered_design("paper", AngledTraits(h), PAPER_COUNTS, models=models)


def numbered_design(
    name: str,
    traits: TraitLaw,
    counts: tuple[int, ...],
    *,
    models: int = 100,
    items: ItemLaw = uniform_items,
) -> Design:
    """A design like the paper's, its domains d01, d02, ... with so many items each."""
    domains = tuple((f"d{k:02d}", count) for k, count in enumerate(counts, 1))
    return Design(name, domains, models, items, traits)


DESIGNS = {design.name: design for design in (DEMO, MMLU, EVEN, SIX, paper_design())}
"""The designs by name."""


def find_design(name: str) -> Design:
    """The design of a name."""
    if name not in DESIGNS:
        raise InputError(f"design {name!r}: there is none; choose one of {', '.join(DESIGNS)}")
    return DESIGNS[name]
