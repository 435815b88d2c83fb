"""The members of XGBoost's model files: which are known, and in which versions.

XGBoost ignores members that it does not know, and so did whoever read its files when
version 3.3 began to keep the weights of dart under another name. Here a member that is
not in these tables is a refusal: it may hold something that changes the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from fatt.errors import MalformedModelError, UnsupportedModelError

Version = tuple[int, ...]
#: The first version that writes a member, and the first that no longer does.
Span = tuple[Version, Version]

MIXTURE = (
    "some trees of the model have one value in each leaf and others one per class, as "
    "after training that went on with another multi_strategy; fatt reads models whose "
    "trees are of one kind. Train it in one go."
)

_NEVER: Version = (2**31,)
_ALWAYS: Span = ((0,), _NEVER)


def _since(*version: int) -> Span:
    return version, _NEVER


def _before(*version: int) -> Span:
    return (0,), version


# Read in the sources of XGBoost 1.0 to 3.4. Members of which no answer depends are
# marked so: they are known, and nobody needs to read them.
_MEMBERS: Mapping[str, Mapping[str, Span]] = {
    "the file": {"version": _ALWAYS, "learner": _ALWAYS},
    "the learner": {
        "learner_model_param": _ALWAYS,
        "gradient_booster": _ALWAYS,
        "objective": _ALWAYS,
        "attributes": _ALWAYS,
        "feature_names": _since(1, 4),
        "feature_types": _since(1, 4),
    },
    "learner_model_param": {
        "base_score": _ALWAYS,
        "num_feature": _ALWAYS,
        "num_class": _ALWAYS,
        "num_target": _since(1, 6),
        # Whether training estimates the base score.
        "boost_from_average": _since(1, 7),
    },
    "the booster gbtree": {
        "name": _ALWAYS,
        "model": _ALWAYS,
        # 3.4 writes it into the model, and still reads it here.
        "weight_drop": _since(3, 3),
    },
    "the booster dart": {
        "name": _before(3, 3),
        "gbtree": _before(3, 3),
        "weight_drop": _before(3, 3),
    },
    "the gbtree of dart": {"name": _ALWAYS, "model": _ALWAYS},
    "the model": {
        "gbtree_model_param": _ALWAYS,
        "trees": _ALWAYS,
        "tree_info": _ALWAYS,
        "iteration_indptr": _since(2, 0),
        "cats": _since(3, 1),
        "weight_drop": _since(3, 4),
    },
    "gbtree_model_param": {
        "num_trees": _ALWAYS,
        "num_parallel_tree": _since(1, 6),
        # Always 0: trees say the size of their leaves themselves.
        "size_leaf_vector": _before(2, 0),
    },
    "a tree": {
        "id": _ALWAYS,
        "tree_param": _ALWAYS,
        "left_children": _ALWAYS,
        "right_children": _ALWAYS,
        "split_indices": _ALWAYS,
        "split_conditions": _ALWAYS,
        "default_left": _ALWAYS,
        "split_type": _since(1, 3),
        "categories": _since(1, 3),
        "categories_nodes": _since(1, 3),
        "categories_segments": _since(1, 3),
        "categories_sizes": _since(1, 3),
        # What leaves are where they are vectors, before 3.2; else a statistic.
        "base_weights": _ALWAYS,
        "leaf_weights": _since(3, 2),
        # Statistics, and the way back to the root.
        "loss_changes": _ALWAYS,
        "sum_hessian": _ALWAYS,
        "parents": _ALWAYS,
        "leaf_child_counts": _before(1, 3),
    },
    "tree_param": {
        "num_nodes": _ALWAYS,
        "size_leaf_vector": _ALWAYS,
        # How many nodes were pruned, and how many features training had.
        "num_deleted": _ALWAYS,
        "num_feature": _ALWAYS,
    },
    "cats": {"enc": _ALWAYS, "feature_segments": _ALWAYS, "sorted_idx": _ALWAYS},
    "an encoder": {"offsets": _ALWAYS, "values": _ALWAYS, "type": _ALWAYS},
    # Of objectives: what training weighs, and once more the number of classes.
    "reg_loss_param": {"scale_pos_weight": _ALWAYS},
    "softmax_multiclass_param": {"num_class": _ALWAYS},
    "pseudo_huber_param": {"huber_slope": _ALWAYS},
    # So 1.6 spells it.
    "pseduo_huber_param": {"huber_slope": _before(1, 7)},
    "poisson_regression_param": {"max_delta_step": _ALWAYS},
    "tweedie_regression_param": {"tweedie_variance_power": _ALWAYS},
    "quantile_loss_param": {"quantile_alpha": _ALWAYS},
}

#: The parameters of the objectives that fatt reads; the members besides their name.
_OBJECTIVES: Mapping[str, tuple[str, ...]] = {
    "binary:logistic": ("reg_loss_param",),
    "binary:logitraw": ("reg_loss_param",),
    "binary:hinge": (),
    "multi:softprob": ("softmax_multiclass_param",),
    "multi:softmax": ("softmax_multiclass_param",),
    "reg:squarederror": ("reg_loss_param",),
    "reg:squaredlogerror": ("reg_loss_param",),
    "reg:logistic": ("reg_loss_param",),
    "reg:pseudohubererror": (
        *("pseudo_huber_param", "pseduo_huber_param", "reg_loss_param"),
    ),
    "reg:absoluteerror": (),
    "reg:quantileerror": ("quantile_loss_param",),
    "reg:gamma": ("reg_loss_param",),
    "reg:tweedie": ("tweedie_regression_param",),
    "count:poisson": ("poisson_regression_param",),
}


def check_members(where: str, found: Iterable[str], version: Version) -> None:
    """Refuse members that are not known, or that the file's version does not write.

    Parameters
    ----------
    where
        Which object they are in, as these tables call it.
    found
        The members.
    version
        The version of XGBoost that wrote the file; empty if it does not say.

    Raises
    ------
    UnsupportedModelError
        If a member is not known.
    MalformedModelError
        If it is known, and another version writes it.
    """
    known = _MEMBERS[where]
    for name in found:
        if name not in known:
            _refuse(where, name)
        first, end = known[name]
        if version and not first <= version < end:
            raise MalformedModelError(
                f"{where} has the member {name!r}, and the file says that XGBoost "
                f"{_text(version)} wrote it, which writes no such member there. The "
                "file was changed; save the model again."
            )


def refuse_mixture(names: Iterable[str], others: Iterable[str]) -> None:
    """Refuse trees of two kinds in one model, which have other members.

    Parameters
    ----------
    names, others
        The members of two trees.

    Raises
    ------
    UnsupportedModelError
        If only the leaves of one are vectors.
    """
    if "leaf_weights" in set(names) ^ set(others):
        raise UnsupportedModelError(MIXTURE)


def check_objective(objective: Mapping[str, object], version: Version) -> None:
    """Refuse members of an objective that are not known.

    Objectives that fatt does not read at all pass; others refuse them.
    """
    name = objective["name"]
    if not isinstance(name, str) or name not in _OBJECTIVES:
        return
    for key, value in objective.items():
        if key == "name":
            continue
        if key not in _OBJECTIVES[name] or not isinstance(value, Mapping):
            _refuse(f"the objective {name}", key)
        check_members(key, value, version)


def _refuse(where: str, name: str) -> NoReturn:
    raise UnsupportedModelError(
        f"{where} has the member {name[:60]!r}, which fatt does not know and which may "
        "change what the model answers. Update fatt, or save the model with a version "
        "of XGBoost that fatt has been tested with."
    )


def _text(version: Version) -> str:
    return ".".join(map(str, version))
