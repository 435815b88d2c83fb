"""What the feature table says of the peers, tried out.

Run ``python -m benchmarks.peers.claims``. Each line is a claim about an installed
version, and whether it holds today.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import veritas
import xgboost
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from benchmarks.output import print_table

_rng = np.random.default_rng(0)
X = _rng.random((300, 3))
y = (X[:, 0] + 0.3 * X[:, 1] > 0.6).astype(int)
CATEGORIES = pd.DataFrame(X, columns=["a", "b", "c"])
CATEGORIES["c"] = pd.Categorical((4 * X[:, 2]).astype(int))
ODD = (4 * X[:, 2]).astype(int) % 2


def light(**options: Any) -> Any:
    return lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, **options)


def is_refused(convert: Callable[[], Any]) -> bool:
    try:
        convert()
    except Exception:  # each library has its own
        return True
    return False


def is_read(model: Any) -> bool:
    """Tell whether Veritas takes a fitted model."""
    return not is_refused(lambda: veritas.get_addtree(model, silent=True))


def no_converter() -> bool:
    """Veritas: scikit-learn's other ensembles."""
    models = (ExtraTreesClassifier, BaggingClassifier, HistGradientBoostingClassifier)
    return not any(is_read(kind().fit(X, y)) for kind in models)


def no_categories() -> bool:
    boosted = xgboost.XGBClassifier(
        n_estimators=5, enable_categorical=True, max_cat_to_onehot=1
    )
    sets = light(min_child_samples=2, min_data_per_group=1, max_cat_to_onehot=1)
    models = [boosted.fit(CATEGORIES, ODD), sets.fit(CATEGORIES, ODD)]
    return not any(map(is_read, models))


def moved_thresholds() -> bool:
    """Veritas takes a person exactly at a threshold of LightGBM to the other side."""
    model = light().fit(X, y)
    root = model.booster_.dump_model()["tree_info"][0]["tree_structure"]
    person = X[:1].copy()
    person[0, root["split_feature"]] = root["threshold"]
    theirs = veritas.get_addtree(model, silent=True).eval(person)[0, 0]
    return bool(abs(theirs - model.predict(person, raw_score=True)[0]) > 0.01)


def two_levels_at_once() -> bool:
    """Veritas finds people who have both levels of a one-hot pair."""
    model = veritas.AddTree(1, veritas.AddTreeType.REGR)
    tree = model.add_tree()
    tree.split(tree.root(), 0, 0.5)
    tree.set_leaf_value(tree.left(tree.root()), 0, 0.0)
    right = tree.right(tree.root())
    tree.split(right, 1, 0.5)
    tree.set_leaf_value(tree.left(right), 0, 0.0)
    tree.set_leaf_value(tree.right(right), 0, 1.0)
    config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT)
    search = config.get_search(model, [veritas.Interval(0.0, 1.1)] * 2)
    search.step_for(1.0, 100)
    return bool(search.get_solution(0).output == 1.0)


def proved_by_art(model: Any, epsilon: float) -> float:
    """Return the share of people whom ART's clique method calls proved."""
    from art.estimators.classification import scikitlearn as wrappers
    from art.metrics.verification_decisions_trees import (
        RobustnessVerificationTreeModelsCliqueMethod,
    )

    wrap = getattr(wrappers, f"Scikitlearn{type(model).__name__}")
    method = RobustnessVerificationTreeModelsCliqueMethod(
        wrap(model=model), verbose=False
    )
    _, error = method.verify(X, model.predict(X), eps_init=epsilon, nb_search_steps=1)
    return float(1 - error)


def wrong_for_forests() -> bool:
    """ART calls people proved where the forest's label changes within reach."""
    forest = RandomForestClassifier(25, max_depth=4, random_state=0).fit(X, y)
    # Everybody reaches everybody, and there are two labels.
    return len(set(forest.predict(X))) == 2 and proved_by_art(forest, 1.0) > 0


def no_base_score() -> bool:
    """ART leaves people unproved whose label only the base score explains."""
    rare = (X[:, 0] > 0.9).astype(int)
    model = GradientBoostingClassifier(n_estimators=1).fit(X, rare)
    return len(set(model.predict(X))) == 1 and proved_by_art(model, 1e-12) < 1


def no_single_trees() -> bool:
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    return is_refused(lambda: proved_by_art(tree, 0.01))


def no_binary_lightgbm() -> bool:
    from art.estimators.classification.lightgbm import LightGBMClassifier

    return is_refused(lambda: LightGBMClassifier(model=light().fit(X, y).booster_))


CLAIMS: dict[str, tuple[str, Callable[[], bool]]] = {
    "reads no ExtraTrees, Bagging, HistGradientBoosting": (
        "dtai-veritas",
        no_converter,
    ),
    "refuses native categories": ("dtai-veritas", no_categories),
    "moves LightGBM's thresholds": ("dtai-veritas", moved_thresholds),
    "knows nothing of one-hot columns": ("dtai-veritas", two_levels_at_once),
    "is wrong about forests of two classes": (
        "adversarial-robustness-toolbox",
        wrong_for_forests,
    ),
    "leaves out the base score": ("adversarial-robustness-toolbox", no_base_score),
    "reads no single trees": ("adversarial-robustness-toolbox", no_single_trees),
    "reads no binary LightGBM": ("adversarial-robustness-toolbox", no_binary_lightgbm),
}


def main() -> None:
    warnings.simplefilter("ignore")
    lines = [
        [package, version(package), claim, "holds" if check() else "does not hold"]
        for claim, (package, check) in CLAIMS.items()
    ]
    print_table(["package", "version", "claim", "today"], lines)


if __name__ == "__main__":
    main()
