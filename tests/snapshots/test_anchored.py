"""Snapshots of fits on the scale of an anchor have more columns: all of them or none."""

import dataclasses

import numpy as np
import pytest

from mtlirt.snapshots.load import load
from mtlirt.snapshots.publish import publish
from mtlirt.snapshots.verify import verify


def anchored(fit):
    """The fit by hand, one of its three domains not linked."""
    domain = np.array([0.5, np.nan, -2.0])
    return dataclasses.replace(
        fit,
        items=fit.items.assign(
            drift_p=np.where(np.arange(9) == 2, np.nan, 0.5), drifted=np.arange(9) == 4
        ),
        domains=fit.domains.assign(
            link_scale=domain,
            link_shift=domain,
            link_scale_se=domain**2,
            link_shift_se=domain**2,
            link_covariance=domain,
            linked_items=[2, 0, 3],
            drifted_items=[1, 0, 0],
        ),
        models=fit.models.assign(
            overall_link_se=fit.models["overall_sd"], general_link_se=fit.models["general_sd"]
        ),
        traits=fit.traits.assign(link_se=fit.traits["sd"]),
        info={**fit.info, "anchor": {"method": "haebara", "unlinked_domains": ["a|b"]}},
    )


def test_they_load_to_the_bit_beside_others_and_verify(url, fit, assert_same):
    publish(fit, url)
    publish(anchored(fit), url)
    assert_same(load(url, 1), fit)
    assert_same(load(url, 2), anchored(fit))
    assert [check.problems for check in verify(url)] == [(), ()]


def test_the_prior_is_centred_at_the_shift(fit):
    np.testing.assert_array_equal(anchored(fit).prior.centre, [0.5, 0.0, -2.0])
    np.testing.assert_array_equal(fit.prior.centre, 0.0)


@pytest.mark.parametrize("column", ["link_scale", "linked_items"])
def test_some_of_the_columns_are_not_enough(tmp_path, fit, column):
    full = anchored(fit)
    part = dataclasses.replace(full, domains=full.domains.drop(columns=column))
    with pytest.raises(ValueError, match=r"domains: columns are .*, expected .*" + column):
        publish(part, tmp_path)
