"""Pairs of items on two scales, for tests of links between them."""

import numpy as np

from mtlirt.irt.curves import Items, probability
from mtlirt.irt.linking import KnownItems, Link

METHODS = ["haebara", "stocking-lord"]
TRUE = Link(1.3, -0.7)


def covariances(items, models):
    """Of (a, d), from the information of so many models with standard normal traits."""
    at = np.linspace(-4.0, 4.0, 61)
    weight = np.exp(-0.5 * at**2)
    weight *= models / weight.sum()
    right = probability(at, *(part[:, None] for part in items._replace(guessing=0.0 * items[2])))
    worth = (weight * right * (1.0 - right))[:, None, :]
    basis = np.stack([np.stack([at**2, at]), np.stack([at, np.ones(61)])])
    information = (worth[:, :, None, :] * basis).sum(axis=-1)
    found = np.linalg.inv(information + np.diag([1.0, 0.0]))
    return np.stack([found[:, 0, 0], found[:, 0, 1], found[:, 1, 1]], axis=1)


def some_items(rng, count, negative=0.1, guessed=0.2):
    slope = np.exp(rng.normal(0.0, 0.3, count)) * np.where(rng.random(count) < negative, -1.0, 1.0)
    floors = np.where(rng.random(count) < guessed, 0.25, 0.0)
    return Items(slope, -slope * rng.normal(0.0, 1.2, count), floors)


def exact_pair(rng, count, link=TRUE, models=200):
    """Items on the scale of an anchor and, twice as well known, on that of a new fit."""
    items = some_items(rng, count)
    anchor = KnownItems(items, covariances(items, models))
    back = Link(1.0 / link.scale, -link.shift / link.scale)
    return KnownItems(items, 0.5 * anchor.covariance).carried(back), anchor


def with_errors(rng, known):
    aa, ad, dd = known.covariance.T
    both = np.stack([np.stack([aa, ad], -1), np.stack([ad, dd], -1)], -2)
    error = np.einsum("jkl,jl->jk", np.linalg.cholesky(both), rng.normal(size=(len(aa), 2)))
    items = known.items
    moved = Items(items.slope + error[:, 0], items.intercept + error[:, 1], items.guessing)
    return KnownItems(moved, known.covariance)
