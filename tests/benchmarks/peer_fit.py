"""Fit every domain of an .npz file by a 2PL of another package, and write what it found.

python peer_fit.py PACKAGE RESPONSES.npz FOUND.npz

Runs in the environment of the peers, which need not hold mtlirt. The file of responses has an int8
array a domain, models x items, 1 correct and 0 wrong; that of results has ``traits`` and ``sds``
(models x domains, sds NaN where the package gives none), ``slopes`` and ``seconds`` (by domain, of
the fit and the scores, after one that compiles).
"""

import importlib
import sys
import time

import numpy as np

NODES = 121


def by_theta(responses, quick=False):
    theta = importlib.import_module("theta")
    fitted = theta.fit(responses, "2PL", n_points=NODES, tol=1e9 if quick else 1e-4)
    means, sds = fitted.score(responses, n_points=NODES)
    return means, sds, fitted.a


def by_mirt(responses, quick=False):
    mirt = importlib.import_module("mirt")
    fitted = mirt.fit_mirt(
        responses.astype(int),
        model="2PL",
        n_quadpts=NODES,
        compute_standard_errors=False,
        max_iter=2 if quick else 500,
    )
    scores = mirt.fscores(fitted, responses.astype(int), method="EAP", n_quadpts=NODES)
    slopes = fitted.model.parameters["discrimination"]
    return np.ravel(scores.theta), np.ravel(scores.standard_error), np.ravel(slopes)


def by_girth(responses, quick=False):
    girth = importlib.import_module("girth")
    options = {"quadrature_n": NODES}
    if quick:
        responses, options = responses[:200, :10], options | {"max_iteration": 2}
    data = responses.T.astype(int)
    fitted = girth.twopl_mml(data, options)
    slopes, difficulties = fitted["Discrimination"], fitted["Difficulty"]
    means = girth.ability_eap(data, difficulties, slopes, options)
    return means, np.full(len(means), np.nan), slopes


PEERS = {"theta-irt": by_theta, "mirt": by_mirt, "girth": by_girth}


def main(name, source, target):
    fit = PEERS[name]
    with np.load(source) as file:
        domains = [file[key] for key in sorted(file.files)]
    for block in {block.shape: block for block in domains}.values():
        fit(block, quick=True)
    found, seconds = [], []
    for block in domains:
        began = time.perf_counter()
        found.append(fit(block))
        seconds.append(time.perf_counter() - began)
    means, sds, slopes = zip(*found, strict=True)
    np.savez(
        target,
        traits=np.stack(means, axis=1),
        sds=np.stack(sds, axis=1),
        slopes=np.concatenate(slopes),
        seconds=seconds,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
