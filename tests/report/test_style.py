"""The colours of the style sheet: text is told from its background."""

import re

import pytest

from mtlirt.report.render import style_text

ENOUGH = 4.5
"""Contrast that WCAG 2 asks of text."""


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable(scheme):
    light, dark = re.split(r"@media screen and \(prefers-color-scheme: dark\)", style_text())
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", light if scheme == "light" else dark))
    assert len(colours) == 2 * 11 + 9 + 7
    for text in ("ink", "soft", "accent"):
        for ground in ("paper", "panel"):
            assert contrast(colours[text], colours[ground]) >= ENOUGH, (text, ground)
    for k in range(11):
        assert contrast(colours[f"t{k}"], colours[f"s{k}"]) >= ENOUGH, k
    for k in range(7):
        assert contrast(colours[f"c{k}"], colours["paper"]) >= 1.5, k
