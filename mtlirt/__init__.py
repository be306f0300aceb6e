"""Item response theory for leaderboards: from item-level results of many LLMs to scores.

The public names; each is imported when first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtlirt.diagnostics.clones import deweight_clones
    from mtlirt.diagnostics.diagnose import diagnose
    from mtlirt.distill.adaptive.adaptive_test import AdaptiveTest
    from mtlirt.distill.distil import distill_benchmarks
    from mtlirt.distill.predict import reconstruct
    from mtlirt.distill.stored import load_distilled, publish_distilled
    from mtlirt.engine.fit import fit, score
    from mtlirt.ingest.frames import from_tidy, from_wide
    from mtlirt.report.write import write_report
    from mtlirt.responses.store import open_responses
    from mtlirt.scores.accuracy import domain_accuracies
    from mtlirt.scores.compare import compare
    from mtlirt.scores.leaderboard import better, leaderboard
    from mtlirt.scores.raw import raw_accuracies
    from mtlirt.snapshots.load import load
    from mtlirt.snapshots.publish import publish

    __version__: str

__all__ = [
    "AdaptiveTest",
    "__version__",
    "better",
    "compare",
    "deweight_clones",
    "diagnose",
    "distill_benchmarks",
    "domain_accuracies",
    "fit",
    "from_tidy",
    "from_wide",
    "leaderboard",
    "load",
    "load_distilled",
    "open_responses",
    "publish",
    "publish_distilled",
    "raw_accuracies",
    "reconstruct",
    "score",
    "write_report",
]

_HOMES = {
    "AdaptiveTest": "mtlirt.distill.adaptive.adaptive_test",
    "deweight_clones": "mtlirt.diagnostics.clones",
    "diagnose": "mtlirt.diagnostics.diagnose",
    "distill_benchmarks": "mtlirt.distill.distil",
    "load_distilled": "mtlirt.distill.stored",
    "publish_distilled": "mtlirt.distill.stored",
    "reconstruct": "mtlirt.distill.predict",
    "fit": "mtlirt.engine.fit",
    "score": "mtlirt.engine.fit",
    "from_tidy": "mtlirt.ingest.frames",
    "from_wide": "mtlirt.ingest.frames",
    "open_responses": "mtlirt.responses.store",
    "better": "mtlirt.scores.leaderboard",
    "compare": "mtlirt.scores.compare",
    "raw_accuracies": "mtlirt.scores.raw",
    "domain_accuracies": "mtlirt.scores.accuracy",
    "leaderboard": "mtlirt.scores.leaderboard",
    "load": "mtlirt.snapshots.load",
    "publish": "mtlirt.snapshots.publish",
    "write_report": "mtlirt.report.write",
}

if not TYPE_CHECKING:  # else every name would be one

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            value = version("mtlirt")
        elif name in _HOMES:
            from importlib import import_module

            value = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
