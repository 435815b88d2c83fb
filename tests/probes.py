"""Rows that sit where models change their mind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Numeric

SMALL = float(np.float32(1e-35))
TINY = [5e-324, 1e-320, 1e-45, 1e-40, 1e-36, SMALL, float(np.nextafter(SMALL, 1))]
LARGE = [1.0, 1e300, 3.4028235e38, 3.4028236e38, 3.5e38, np.inf]
SPECIAL = np.array([0.0, 0.5, np.nan, *TINY, *LARGE])
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])
BIG_CODES = [255.0, 256.0, 2.0**24, 2.0**24 + 2, 2.0**31, 1e20, np.inf]
ODD_CODES = np.array([-0.0, 1e-320, 0.5, 0.999, 1.0, np.nan, *BIG_CODES])
ODD_CODES = np.concatenate([ODD_CODES, -ODD_CODES])


def neighbours(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each value with its float64 neighbours and the ones around its float32 casts."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
        around = [values, np.nextafter(values, -np.inf), np.nextafter(values, np.inf)]
        for step in (single, np.nextafter(single, np.float32(-np.inf))):
            wide = step.astype(np.float64)
            around += [wide, np.nextafter(wide, -np.inf), np.nextafter(wide, np.inf)]
        up = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
        around += [up, up / 2 + single.astype(np.float64) / 2]
    return np.unique(np.concatenate(around))


def candidates(ensemble: Ensemble, index: int) -> NDArray[np.float64]:
    """The values of one feature worth trying, of those the library takes.

    For a categorical feature these are cells as numbers: codes of a coded feature,
    positions in `categories` (or one beyond, for unknown) of a labelled one.
    """
    feature = ensemble.features[index]
    if isinstance(feature, Categorical):
        codes = np.arange(len(feature.categories) + 2, dtype=np.float64)
        if feature.coding == "label":
            codes = codes[: len(feature.categories) + feature.accepts_unknown]
            return np.append(codes, [np.nan] * feature.accepts_missing)
        codes = np.concatenate([codes, ODD_CODES])
        return codes[~((codes < feature.lower) | (codes > feature.upper))]
    assert isinstance(feature, Numeric)
    edges = np.array([*feature.edges, *(feature.missing_range or ())])
    cuts = np.concatenate([ensemble.thresholds(index), edges])
    values = np.concatenate([neighbours(cuts[np.isfinite(cuts)]), SPECIAL])
    inside = (values >= feature.lower) & (values <= feature.upper)
    if feature.accepts_missing:
        inside |= np.isnan(values)
    return values[inside]


def probe_rows(
    ensemble: Ensemble, rng: np.random.Generator, n_rows: int
) -> NDArray[np.float64]:
    """Draw rows whose every cell is one of the feature's candidates.

    Every candidate of every feature occurs at least once if `n_rows` suffices.
    """
    rows = np.empty((n_rows, len(ensemble.features)))
    for index in range(len(ensemble.features)):
        values = candidates(ensemble, index)
        picks = rng.integers(len(values), size=n_rows)
        picks[: len(values)] = rng.permutation(len(values))[:n_rows]
        rows[:, index] = values[rng.permutation(picks)]
    return rows


def same_bits(left: NDArray[np.floating], right: NDArray[np.floating]) -> bool:
    """Tell whether two arrays hold the same floats, bit for bit."""
    a, b = np.asarray(left), np.asarray(right)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return np.array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))
