"""The headline metric and split that HELM's leaderboards show of each group of runs.

They stand in the schemas of HELM's Classic, Lite, MMLU and Capabilities leaderboards, not in the
logs. Groups whose schemas disagree are left out, and so are those of no metric of single answers.
"""

from __future__ import annotations

_GROUPS = {
    "exact_match": "blimp hellaswag mmlu openbookqa thai_exam truthful_qa",
    "quasi_exact_match": "babi_qa boolq civil_comments entity_data_imputation entity_matching imdb "
    "legal_support legalbench lsat_qa raft synthetic_reasoning wikifact",
    "f1_score": "narrative_qa natural_qa_closedbook natural_qa_openbook_longans quac",
    "f1_set_match": "synthetic_reasoning_natural",
    "exact_match_indicator": "dyck_language",
    "math_equiv": "math_regular",
    "math_equiv_chain_of_thought": "math_chain_of_thought",
    "chain_of_thought_correctness": "gpqa mmlu_pro",
    "ifeval_strict_accuracy": "ifeval",
    "omni_math_accuracy": "omni_math",
    "wildbench_score_rescaled": "wildbench",
    "bleu_4": "wmt_14",
}

HEADLINE = {group: metric for metric, groups in _GROUPS.items() for group in groups.split()}
"""Metric by group."""

ON_VALIDATION = frozenset(
    [
        "boolq",
        "hellaswag",
        "imdb",
        "natural_qa_closedbook",
        "natural_qa_openbook_longans",
        "quac",
        "truthful_qa",
    ]
)
"""Groups whose split is ``valid``; that of all others is ``test``."""
