"""Many tests at once: Benjamini-Hochberg adjusted p-values (Benjamini and Hochberg 1995).

With 200 features and no drift at all, p < 0.05 flags ten. Adjusted values say instead: of the alarms at or below q, at most
a share q is expected to be false. Valid for independent and for positively dependent tests.
"""

from __future__ import annotations

from collections.abc import Mapping


def benjamini_hochberg(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p-value by key; each in [0, 1]. Equal inputs give equal outputs whatever their order."""
    ranked = sorted(p_values.items(), key=lambda item: (-item[1], item[0]))
    adjusted: dict[str, float] = {}
    smallest = 1.0
    for position, (key, p_value) in enumerate(ranked):
        smallest = min(smallest, p_value * len(ranked) / (len(ranked) - position))
        adjusted[key] = smallest
    return adjusted
