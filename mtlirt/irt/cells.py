"""Compiled passes over blocks cell by cell, for models that did not answer every item.

They read blocks as `irt.kernels` describes them, under the same rules. A cell counts as often as it
was attempted or, if asked, passed; 0 where it is missing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mtlirt.irt.kernels import LEAST, Float, bounded_sigmoid, compiled, fetch, inlined, sigmoid

FEW = 8
"""Where fewer than one cell in so many counts, they are gone through one by one."""

LANES = 4
"""So many models with overlapping windows go over the items together: what the table holds is read
once for all of them. The loops spell them out, so that the sums stay in registers."""

STRIP_BYTES = 2**19
"""Of the rows that are taken in the order of their windows: so many stay in the second cache, once
they were fetched in the order of the memory."""


@inlined
def cell_weights(
    responses: npt.NDArray[np.generic],
    weight: npt.NDArray[np.float32],
    i: int,
    out: Float,
) -> None:
    """Write the attempts behind each cell of model i, 0 where missing, to ``out``."""
    items = responses.shape[1]
    if weight.shape[0] > 0:
        for j in range(items):
            out[j] = weight[i, j]
    else:
        for j in range(items):
            out[j] = 1.0 if responses[i, j] >= 0 else 0.0


@inlined
def cell_counts(
    responses: npt.NDArray[np.generic],
    weight: npt.NDArray[np.float32],
    successes: bool,
    i: int,
    out: Float,
) -> None:
    """Write the successes, or else the attempts, of each cell of model i to ``out``."""
    if successes:
        for j in range(responses.shape[1]):
            out[j] = max(responses[i, j], 0)
    else:
        cell_weights(responses, weight, i, out)


@inlined
def few_cells(cells: Float, which: npt.NDArray[np.uint64]) -> int:
    """List the cells that count where they are few; returns how many, or else that of all."""
    items = cells.shape[0]
    there, listed = 0, 0
    for j in range(items):
        there += 1 if cells[j] != 0.0 else 0
    if there * FEW > items:
        return int(items)
    for j in range(items):
        which[listed] = j
        listed += 1 if cells[j] != 0.0 else 0
    return listed


@compiled
def answer_counts(
    responses: npt.NDArray[np.generic], weight: npt.NDArray[np.float32]
) -> tuple[Float, Float, npt.NDArray[np.int64], npt.NDArray[np.int64], Float, Float]:
    """Totals of a block: successes and attempts by item, cells by model and item, scores.

    Returns ``successes`` (items), ``attempts`` (items), ``answered`` cells by model, cells by
    item, and the successes and attempts by model.
    """
    models, items = responses.shape
    successes, attempts = np.zeros(items), np.zeros(items)
    by_model, by_item = np.zeros(models, np.int64), np.zeros(items, np.int64)
    score, tries = np.zeros(models), np.zeros(models)
    cells = np.empty(items)
    for i in range(models):
        cell_weights(responses, weight, i, cells)
        total, right, tried = 0, 0.0, 0.0
        for j in range(items):
            correct = max(responses[i, j], 0)
            successes[j] += correct
            attempts[j] += cells[j]
            there = 1 if cells[j] > 0.0 else 0
            by_item[j] += there
            total += there
            right += correct
            tried += cells[j]
        by_model[i] = total
        score[i] = right
        tries[i] = tried
    return successes, attempts, by_model, by_item, score, tries


@inlined
def by_window(
    begin: int,
    end: int,
    start: npt.NDArray[np.int64],
    stride: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    count: int,
) -> npt.NDArray[np.int64]:
    """The models begin .. end - 1 by their windows, those whose nodes can coincide together.

    Models with no nodes are left out.
    """
    asked = begin + np.nonzero(nodes[begin:end])[0]
    key = np.empty(len(asked), np.int64)
    for m in range(len(asked)):
        i = asked[m]
        key[m] = (stride[i] * count + start[i] % stride[i]) * count + start[i]
    return asked[np.argsort(key, kind="mergesort")]


@inlined
def next_lanes(
    responses: npt.NDArray[np.generic],
    weight: npt.NDArray[np.float32],
    successes: bool,
    order: npt.NDArray[np.int64],
    position: int,
    start: npt.NDArray[np.int64],
    stride: npt.NDArray[np.int64],
    cells: Float,
    which: npt.NDArray[np.uint64],
) -> tuple[int, int]:
    """Write the counts of the next models that go together to ``cells``; those of no model are 0.

    Returns how many models, and how many of their cells are to be gone through: a model of few
    cells goes by itself.
    """
    items = responses.shape[1]
    filled, there = 0, items
    for m in range(LANES):
        lane = cells[m]
        lane[:] = 0.0
        if m > filled or position + m >= len(order):
            continue
        i, lead = order[position + m], order[position]
        apart = start[i] - start[lead]
        if stride[i] != stride[lead] or apart % stride[i] != 0 or apart > LANES * stride[i]:
            continue
        cell_counts(responses, weight, successes, i, lane)
        few = few_cells(lane, which)
        if few == items:
            filled += 1
        elif m == 0:
            return 1, few
        else:
            lane[:] = 0.0
    return filled, there


@inlined
def common_rows(
    order: npt.NDArray[np.int64],
    position: int,
    filled: int,
    start: npt.NDArray[np.int64],
    stride: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    offset: npt.NDArray[np.int64],
) -> tuple[int, int, int]:
    """The first grid point of models that go together, their stride, and how many pairs of rows.

    Writes to ``offset`` which of each model's own nodes the first grid point would be, 0 or less.
    """
    lead = order[position]
    step, low, high = stride[lead], start[lead], 0
    for m in range(filled):
        i = order[position + m]
        high = max(high, start[i] + (nodes[i] - 1) * step)
        offset[m] = (low - start[i]) // step
    return low, step, (high - low) // (2 * step) + 1


@compiled
def masked_curves(
    responses: npt.NDArray[np.generic],
    weight: npt.NDArray[np.float32],
    successes: bool,
    table: Float,
    start: npt.NDArray[np.int64],
    stride: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    out: Float,
) -> None:
    """Add to ``out[i, k]`` the table's row ``start + k stride`` summed over model i's cells.

    A cell counts as often as it was attempted or, if asked, passed. Models with no nodes are passed
    over. Cost: cells x nodes multiplications, of vectors of cells unless those that count are few.
    """
    models, items = responses.shape
    last = table.shape[0] - 1
    cells, which = np.empty((LANES, items)), np.empty(items + 1, np.uint64)
    cells0, cells1, cells2, cells3 = cells[0], cells[1], cells[2], cells[3]
    totals, offset = np.empty((2, LANES)), np.empty(LANES, np.int64)
    rows = max(STRIP_BYTES // max(items * responses.itemsize, 1), 1)
    for begin in range(0, models, rows):
        end = min(begin + rows, models)
        if fetch(responses, begin, end) < LEAST:
            out[begin, 0] = np.nan
        order = by_window(begin, end, start, stride, nodes, table.shape[0])
        position = 0
        while position < len(order):
            filled, there = next_lanes(
                responses, weight, successes, order, position, start, stride, cells, which
            )
            low, step, pairs = common_rows(order, position, filled, start, stride, nodes, offset)
            for pair in range(pairs):
                row = low + 2 * step * pair
                far = min(row + step, last)
                near0, near1, near2, near3 = 0.0, 0.0, 0.0, 0.0
                far0, far1, far2, far3 = 0.0, 0.0, 0.0, 0.0
                if there < items:
                    for m in range(there):
                        j = which[m]
                        near0 += cells0[j] * table[row, j]
                        far0 += cells0[j] * table[far, j]
                else:
                    for j in range(items):
                        near0 += cells0[j] * table[row, j]
                        near1 += cells1[j] * table[row, j]
                        near2 += cells2[j] * table[row, j]
                        near3 += cells3[j] * table[row, j]
                        far0 += cells0[j] * table[far, j]
                        far1 += cells1[j] * table[far, j]
                        far2 += cells2[j] * table[far, j]
                        far3 += cells3[j] * table[far, j]
                totals[0, 0], totals[0, 1], totals[0, 2], totals[0, 3] = near0, near1, near2, near3
                totals[1, 0], totals[1, 1], totals[1, 2], totals[1, 3] = far0, far1, far2, far3
                for m in range(filled):
                    i, k = order[position + m], offset[m] + 2 * pair
                    if 0 <= k < nodes[i]:
                        out[i, k] += totals[0, m]
                    if 0 <= k + 1 < nodes[i]:
                        out[i, k + 1] += totals[1, m]
            position += filled


@compiled
def masked_histogram(
    responses: npt.NDArray[np.generic],
    weight: npt.NDArray[np.float32],
    successes: bool,
    density: Float,
    start: npt.NDArray[np.int64],
    stride: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    count: int,
) -> Float:
    """Expected attempts, or successes, at each grid point and item, shape (count, items).

    Cost: cells x nodes multiplications, of vectors of cells unless those that count are few.
    """
    models, items = responses.shape
    last = count - 1
    cells, which = np.empty((LANES, items)), np.empty(items + 1, np.uint64)
    cells0, cells1, cells2, cells3 = cells[0], cells[1], cells[2], cells[3]
    shares, offset = np.empty((2, LANES)), np.empty(LANES, np.int64)
    out = np.zeros((count, items))
    rows = max(STRIP_BYTES // max(items * responses.itemsize, 1), 1)
    for begin in range(0, models, rows):
        end = min(begin + rows, models)
        if fetch(responses, begin, end) < LEAST:
            out[0, 0] = np.nan
        order = by_window(begin, end, start, stride, nodes, count)
        position = 0
        while position < len(order):
            filled, there = next_lanes(
                responses, weight, successes, order, position, start, stride, cells, which
            )
            low, step, pairs = common_rows(order, position, filled, start, stride, nodes, offset)
            for pair in range(pairs):
                row = low + 2 * step * pair
                shares[:] = 0.0
                for m in range(filled):
                    i, k = order[position + m], offset[m] + 2 * pair
                    if 0 <= k < nodes[i]:
                        shares[0, m] = density[i, k]
                    if 0 <= k + 1 < nodes[i]:
                        shares[1, m] = density[i, k + 1]
                near0, near1, near2, near3 = shares[0, 0], shares[0, 1], shares[0, 2], shares[0, 3]
                far0, far1, far2, far3 = shares[1, 0], shares[1, 1], shares[1, 2], shares[1, 3]
                far = min(row + step, last)
                if there < items:
                    for m in range(there):
                        j = which[m]
                        out[row, j] += cells0[j] * near0
                        out[far, j] += cells0[j] * far0
                else:
                    for j in range(items):
                        cell0, cell1, cell2, cell3 = cells0[j], cells1[j], cells2[j], cells3[j]
                        out[row, j] += (cell0 * near0 + cell1 * near1) + (
                            cell2 * near2 + cell3 * near3
                        )
                        out[far, j] += (cell0 * far0 + cell1 * far1) + (cell2 * far2 + cell3 * far3)
            position += filled
    return out


@compiled
def standard_residuals(
    responses: npt.NDArray[np.generic],
    weight: npt.NDArray[np.float32],
    slope: Float,
    intercept: Float,
    guessing: Float,
    trait: Float,
) -> Float:
    """Successes minus expected successes, 0 where missing, each item's of length 1 (or all 0).

    Shape (models, items). Cost: one exponential for each cell.
    """
    models, items = responses.shape
    out, length, cells = np.empty((models, items)), np.zeros(items), np.empty(items)
    for i in range(models):
        cell_weights(responses, weight, i, cells)
        theta, line = trait[i], out[i]
        for j in range(items):
            p = bounded_sigmoid(slope[j] * theta + intercept[j])
            p = guessing[j] + (1.0 - guessing[j]) * p
            line[j] = max(responses[i, j], 0) - cells[j] * p
            length[j] += line[j] * line[j]
    for j in range(items):
        length[j] = 1.0 / np.sqrt(length[j]) if length[j] > 0.0 else 1.0
    for i in range(models):
        line = out[i]
        for j in range(items):
            line[j] *= length[j]
    return out


@compiled
def trait_modes(
    responses: npt.NDArray[np.generic],
    weight: npt.NDArray[np.float32],
    slope: Float,
    intercept: Float,
    guessing: Float,
    prior_mean: Float,
    prior_variance: Float,
    tolerance: float,
    mode: Float,
    information: Float,
) -> None:
    """Mode of each trait's posterior near its prior mean, and the expected information there.

    Newton's method from the prior mean, its step shortened by log(1 + r)/r with r the largest
    change of a logit, which never overshoots a logistic likelihood. With guessing a posterior may
    have several modes: where it is hardly curved, steps take a tenth of the expected information,
    and one that leaves the interval known to hold a mode ends halfway in it. Cost: cells x
    iterations exponentials.
    """
    models, items = responses.shape
    log_guessing = np.log(guessing)
    cells = np.empty(items)
    for i in range(models):
        cell_weights(responses, weight, i, cells)
        steepest = 0.0
        for j in range(items):
            if cells[j] > 0.0:
                steepest = max(steepest, abs(slope[j]))
        theta, info, bend = prior_mean[i], 0.0, 0.0
        low, high = -np.inf, np.inf
        precision = 1.0 / prior_variance[i]
        for _ in range(200):
            gradient, info, bend = precision * (prior_mean[i] - theta), 0.0, 0.0
            for j in range(items):
                if cells[j] > 0.0:
                    eta, right = slope[j] * theta + intercept[j], max(responses[i, j], 0)
                    p = sigmoid(eta)
                    plain = slope[j] ** 2 * cells[j] * p * (1.0 - p)
                    known, guesses = 1.0, 0.0
                    if guessing[j] > 0.0:
                        known = sigmoid(eta - log_guessing[j])
                        guesses = right * (1.0 - known)
                    gradient += slope[j] * (right * known - cells[j] * p)
                    info += plain * (1.0 - guessing[j]) * known
                    bend += plain - slope[j] ** 2 * guesses * known
            change = gradient / max(bend + precision, 0.1 * (info + precision))
            r = abs(change) * steepest
            if r > 1e-3:
                change *= np.log1p(r) / r
            low, high = (theta, high) if gradient > 0.0 else (low, theta)
            if theta + change < low or theta + change > high:
                change = 0.5 * (low + high) - theta
            theta += change
            if abs(change) < tolerance:
                break
        mode[i] = theta
        information[i] = info
