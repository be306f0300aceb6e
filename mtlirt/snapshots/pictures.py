"""Pictures that a snapshot holds."""

from __future__ import annotations

import io

import pandas as pd


def path_picture(path: pd.DataFrame) -> bytes:
    """The held-out loss along the penalties as SVG; equal paths give equal bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "mtlirt", "font.size": 9}):
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.add_subplot()
        place = range(len(path))
        axes.errorbar(
            place, path["loss"], path["loss_se"], marker="o", markersize=4, capsize=2, linewidth=1
        )
        chosen = int(path["chosen"].to_numpy().argmax())
        axes.axvline(chosen, color="0.6", linestyle="--", linewidth=1, zorder=0)
        labels = [
            f"{penalty:g}\n{fused:.0f}"
            for penalty, fused in zip(path.index, path["fused"], strict=True)
        ]
        axes.set_xticks(list(place), labels)
        axes.set_xlabel("penalty C, and domains fused to the general trait")
        axes.set_ylabel("held-out loss of a cell, \u00b1 1 s.e.")
        axes.set_title(f"cross-validation chose C = {path.index[chosen]:g}", loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
