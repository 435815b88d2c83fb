"""What fitted objects of scikit-learn hold and say, from version 1.5 to 1.9.

A later version may keep something else in them that decides: what is not known here is
refused by its name, and never ignored. scikit-learn puts what it learns into attributes
that begin or end with an underscore, and settings into constructor parameters; other
attributes are notes that somebody attached to the object, which it never reads.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np

from fatt.ensemble import Inputs, Label, Source
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.registry import FEATURES, refuse_replaced
from fatt.importers.versions import note_newer, releases_of

_ANY = """
    n_features_in_ feature_names_in_ _sklearn_output_config _metadata_request
"""
_TREE = """
    ccp_alpha class_weight criterion max_depth max_features max_leaf_nodes
    min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf
    monotonic_cst random_state splitter
    classes_ max_features_ n_classes_ n_outputs_ tree_
"""
_FOREST = """
    bootstrap ccp_alpha class_weight criterion max_depth max_features max_leaf_nodes
    max_samples min_impurity_decrease min_samples_leaf min_samples_split
    min_weight_fraction_leaf monotonic_cst n_estimators n_jobs oob_score random_state
    verbose warm_start
    estimator estimator_params estimator_ estimators_ classes_ n_classes_ n_outputs_
    oob_decision_function_ oob_score_ _n_samples _n_samples_bootstrap _sample_weight
"""
_BAGGING = """
    bootstrap bootstrap_features estimator max_features max_samples n_estimators
    n_jobs oob_score random_state verbose warm_start
    estimator_params estimator_ estimators_ estimators_features_ classes_ n_classes_
    oob_decision_function_ oob_score_
    _max_features _max_samples _n_samples _sample_weight _seeds
"""
_BOOSTING = """
    ccp_alpha criterion init learning_rate loss max_depth max_features
    max_leaf_nodes min_impurity_decrease min_samples_leaf min_samples_split
    min_weight_fraction_leaf n_estimators n_iter_no_change random_state subsample
    tol validation_fraction verbose warm_start
    alpha estimator estimator_params estimator_ estimators_ classes_ init_
    max_features_ n_classes_ n_estimators_ n_trees_per_iteration_ oob_improvement_
    oob_score_ oob_scores_ train_score_ _loss _rng
"""
_HISTOGRAMS = """
    categorical_features early_stopping interaction_cst
    l2_regularization learning_rate loss max_bins max_depth max_features max_iter
    max_leaf_nodes min_samples_leaf monotonic_cst n_iter_no_change random_state
    scoring tol validation_fraction verbose warm_start
    classes_ do_early_stopping_ is_categorical_ n_trees_per_iteration_ train_score_
    validation_score_ _baseline_prediction _bin_mapper _feature_subsample_rng
    _fitted_with_sw _in_fit _is_categorical_remapped _label_encoder _loss
    _n_features _predictors _preprocessor _random_seed _scorer _use_validation_data
"""
_ENCODER = """
    categories dtype handle_unknown max_categories min_frequency
    categories_ _default_to_infrequent_mappings _infrequent_enabled
    _infrequent_indices
"""
_SCORED = "score_func pvalues_ scores_"
_ELIMINATION = """
    estimator importance_getter step verbose
    estimator_ n_features_ ranking_ support_
"""

#: Parameters and fitted attributes, by the name of the class.
_KNOWN = {
    "DecisionTreeClassifier": _TREE,
    "ExtraTreeClassifier": _TREE,
    "DecisionTreeRegressor": _TREE,
    "ExtraTreeRegressor": _TREE,
    "RandomForestClassifier": _FOREST,
    "ExtraTreesClassifier": _FOREST,
    "RandomForestRegressor": f"{_FOREST} oob_prediction_",
    "ExtraTreesRegressor": f"{_FOREST} oob_prediction_",
    "BaggingClassifier": _BAGGING,
    "AdaBoostClassifier": """
        algorithm estimator learning_rate n_estimators random_state
        classes_ estimator_ estimator_errors_ estimator_params estimator_weights_
        estimators_ n_classes_
    """,
    "BaggingRegressor": f"{_BAGGING} oob_prediction_",
    "GradientBoostingClassifier": _BOOSTING,
    "GradientBoostingRegressor": _BOOSTING,
    "DummyClassifier": """
        constant random_state strategy
        class_prior_ classes_ n_classes_ n_outputs_ sparse_output_ _strategy
    """,
    "DummyRegressor": "constant quantile strategy constant_ n_outputs_",
    "HistGradientBoostingClassifier": f"class_weight {_HISTOGRAMS}",
    "HistGradientBoostingRegressor": f"quantile {_HISTOGRAMS}",
    "_BinMapper": """
        is_categorical known_categories n_bins n_threads random_state subsample
        bin_thresholds_ is_categorical_ missing_values_bin_idx_ n_bins_non_missing_
    """,
    "TreePredictor": "nodes binned_left_cat_bitsets raw_left_cat_bitsets",
    "FixedThresholdClassifier": """
        estimator pos_label response_method threshold estimator_
    """,
    "TunedThresholdClassifierCV": """
        cv estimator n_jobs random_state refit response_method scoring store_cv_results
        thresholds
        best_score_ best_threshold_ cv_results_ estimator_ _curve_scorer
    """,
    "FrozenEstimator": "estimator",
    "CalibratedClassifierCV": """
        cv ensemble estimator method n_jobs calibrated_classifiers_ classes_
    """,
    "_CalibratedClassifier": "calibrators classes estimator method",
    "_SigmoidCalibration": "a_ b_",
    "FeatureUnion": """
        n_jobs transformer_list transformer_weights verbose verbose_feature_names_out
        _transformers_feature_names_out
    """,
    "SelectKBest": f"k {_SCORED}",
    "SelectPercentile": f"percentile {_SCORED}",
    "SelectFpr": f"alpha {_SCORED}",
    "SelectFdr": f"alpha {_SCORED}",
    "SelectFwe": f"alpha {_SCORED}",
    "GenericUnivariateSelect": f"mode param {_SCORED}",
    "VarianceThreshold": "threshold variances_",
    "SelectFromModel": """
        estimator importance_getter max_features norm_order prefit threshold
        estimator_ max_features_
    """,
    "RFE": f"n_features_to_select {_ELIMINATION}",
    "RFECV": f"""
        cv min_features_to_select n_jobs scoring cv_results_ {_ELIMINATION}
    """,
    "SequentialFeatureSelector": """
        cv direction estimator n_features_to_select n_jobs scoring tol
        n_features_to_select_ support_
    """,
    "VotingClassifier": """
        estimators flatten_transform n_jobs verbose voting weights
        classes_ estimators_ le_ named_estimators_
    """,
    "VotingRegressor": """
        estimators n_jobs verbose weights estimators_ named_estimators_
    """,
    "LabelEncoder": "classes_",
    "TransformedTargetRegressor": """
        check_inverse func inverse_func regressor transformer
        regressor_ transformer_ _training_dim
    """,
    "IsotonicRegression": """
        increasing out_of_bounds y_max y_min
        f_ increasing_ X_max_ X_min_ X_thresholds_ y_thresholds_
    """,
    "Pipeline": "memory steps transform_input verbose",
    "ColumnTransformer": """
        force_int_remainder_cols n_jobs remainder sparse_threshold transformer_weights
        transformers verbose verbose_feature_names_out
        output_indices_ sparse_output_ transformers_ _columns _remainder
        _transformer_to_input_indices _transformers_feature_names_out
    """,
    "FunctionTransformer": """
        accept_sparse check_inverse feature_names_out func inv_kw_args inverse_func
        kw_args validate
    """,
    "Binarizer": "copy threshold",
    "QuantileTransformer": """
        copy ignore_implicit_zeros n_quantiles output_distribution random_state
        subsample n_quantiles_ quantiles_ references_
    """,
    "PolynomialFeatures": """
        degree include_bias interaction_only order
        n_output_features_ _max_degree _min_degree _n_out_full
    """,
    "PowerTransformer": "copy method standardize lambdas_ _scaler",
    "StandardScaler": """
        copy with_mean with_std mean_ n_samples_seen_ scale_ var_
    """,
    "MinMaxScaler": """
        clip copy feature_range
        data_max_ data_min_ data_range_ min_ n_samples_seen_ scale_
    """,
    "MaxAbsScaler": "clip copy max_abs_ n_samples_seen_ scale_",
    "RobustScaler": """
        copy quantile_range unit_variance with_centering with_scaling center_ scale_
    """,
    "OneHotEncoder": f"""
        {_ENCODER} drop feature_name_combiner sparse_output
        drop_idx_ _drop_idx_after_grouping _n_features_outs
    """,
    "OrdinalEncoder": f"""
        {_ENCODER} encoded_missing_value unknown_value _missing_indices
    """,
    "TargetEncoder": f"""
        {_ENCODER} cv random_state shuffle smooth target_type
        classes_ encodings_ target_mean_ target_type_ _label_encoder
    """,
    "KBinsDiscretizer": """
        dtype encode n_bins quantile_method random_state strategy subsample
        bin_edges_ n_bins_ _encoder
    """,
    "SimpleImputer": """
        add_indicator copy fill_value keep_empty_features missing_values strategy
        indicator_ statistics_ _fill_dtype _fit_dtype
    """,
    "MissingIndicator": """
        error_on_new features missing_values sparse
        features_ _n_features _precomputed
    """,
}

#: The fields of a node of a plain tree, and of one of histogram boosting.
_NODE = """
    left_child right_child feature threshold impurity n_node_samples
    weighted_n_node_samples missing_go_to_left
"""
_HIST_NODE = """
    value count feature_idx num_threshold missing_go_to_left left right gain depth
    is_leaf bin_threshold is_categorical bitset_idx
"""

#: What a plain tree holds besides its methods, and what it is saved as.
_IN_TREE = """
    capacity children_left children_right feature impurity max_depth max_n_classes
    missing_go_to_left n_classes n_features n_leaves n_node_samples n_outputs node_count
    threshold value weighted_n_node_samples
"""
_SAVED = "max_depth node_count nodes values"
_ARGUMENTS = 3

#: What to do about a model of a version that is not known yet.
TRAIN_ANEW = (
    f"Train the model with scikit-learn {releases_of('scikit-learn')}, or install a "
    "newer fatt."
)


def is_known(part: Any) -> bool:
    """Tell whether an object is of a class that is read."""
    kind = type(part)
    return kind.__module__.startswith("sklearn.") and kind.__name__ in _KNOWN


def check_members(part: Any) -> None:
    """Refuse a fitted object that holds what no known version gives it.

    Parameters
    ----------
    part
        Fitted estimator or transformer of scikit-learn, of a class that is read.

    Raises
    ------
    UnsupportedModelError
        If it has a parameter or a fitted attribute that is not known, or one of its
        methods was replaced.
    """
    refuse_replaced(part)
    kind: type = type(part)
    known = _known(kind.__name__)
    telling = [
        name
        for name in vars(part)
        if name.startswith("_") or name.endswith("_") or name in _parameters(kind)
    ]
    _refuse_unknown({*telling, *_parameters(kind)}, known, f"the {kind.__name__}")


def check_tree(tree: Any) -> None:
    """Refuse the ``tree_`` of an estimator if it holds more than trees are known to.

    Parameters
    ----------
    tree
        scikit-learn's own `Tree`.

    Raises
    ------
    UnsupportedModelError
        If its nodes have a field, or it has a member, that is not known.
    MalformedModelError
        If it is no such tree, or lacks one.
    """
    from sklearn.tree._tree import Tree

    kind: type = type(tree)
    members = {*_data_members(kind), *getattr(tree, "__dict__", ())}
    _refuse_unknown(members, _names(_IN_TREE), "a tree of the model")
    try:
        _, arguments, state = tree.__reduce__()
        _refuse_unknown(state, _names(_SAVED), "a tree of the model")
        fields = state["nodes"].dtype.names or ()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MalformedModelError(f"a tree is of type {kind.__name__}.") from error
    _check_fields(fields, _names(_NODE))
    if len(arguments) != _ARGUMENTS:
        raise UnsupportedModelError(
            f"a tree of the model is made of {len(arguments)} numbers and lists, and "
            f"trees are known to be made of {_ARGUMENTS}. {_ADVICE}"
        )
    if kind is not Tree:
        raise MalformedModelError(f"a tree is of type {kind.__name__}.")


def check_hist_nodes(nodes: Any) -> None:
    """Refuse the nodes of histogram boosting if they have other fields than known."""
    _check_fields(nodes.dtype.names or (), _names(_HIST_NODE))


_ADVICE = f"Another scikit-learn than fatt knows may decide by it. {TRAIN_ANEW}"


def _check_fields(found: Iterable[str], known: frozenset[str]) -> None:
    found = set(found)
    _refuse_unknown(found, known, "a node of a tree")
    if found != known:
        absent = ", ".join(sorted(known - found))
        raise MalformedModelError(f"the nodes of a tree lack the field(s) {absent}.")


def _refuse_unknown(found: Iterable[str], known: frozenset[str], what: str) -> None:
    unknown = sorted(set(found) - known)
    if unknown:
        raise UnsupportedModelError(
            f"{what} holds {', '.join(unknown)}, which fatt does not know. {_ADVICE}"
        )


@functools.cache
def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


@functools.cache
def _known(kind: str) -> frozenset[str]:
    return _names(_ANY) | _names(_KNOWN[kind])


@functools.cache
def _parameters(kind: type) -> frozenset[str]:
    """Return the names of the constructor's parameters."""
    return frozenset(list(inspect.signature(kind).parameters))


@functools.cache
def _data_members(kind: type) -> frozenset[str]:
    """Return the public members of a compiled class that are no methods."""
    return frozenset(
        name
        for name in dir(kind)
        if not name.startswith("_") and not callable(getattr(kind, name))
    )


def n_features(model: Any) -> int:
    """Return the number of columns that the model reads."""
    count = int(model.n_features_in_)
    if not 0 < count <= FEATURES:
        raise UnsupportedModelError(
            f"the model claims to read {count} columns; fatt reads models of 1 to "
            f"{FEATURES} columns."
        )
    return count


def feature_names(model: Any) -> tuple[str, ...]:
    """Return the names of the columns, or x0, x1, ... if the model was given none."""
    count = n_features(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{index}" for index in range(count))
    if len(names) != count:
        raise MalformedModelError(
            f"the model names {len(names)} columns and reads {count}."
        )
    return tuple(str(name) for name in names)


def inputs(model: Any, *, integer_limit: int = 2**53) -> Inputs:
    """Say how the model reads tables."""
    return Inputs(
        named=hasattr(model, "feature_names_in_"), integer_limit=integer_limit
    )


def labels(values: Any, what: str) -> tuple[Label, ...]:
    """Return numpy or Python values as the strings and numbers they stand for."""
    return tuple(plain_label(value, what) for value in np.asarray(values))


def classes(model: Any) -> tuple[Label, ...]:
    """Return the labels that the model answers, in its order."""
    return labels(model.classes_, "the list of classes")


def source(model: Any, *, objective: str = "", notes: tuple[str, ...] = ()) -> Source:
    """Describe where the model came from."""
    import sklearn

    version = str(sklearn.__version__)
    return Source(
        library="scikit-learn",
        version=version,
        format="fitted object",
        model=type(model).__name__,
        objective=objective,
        notes=(*note_newer("scikit-learn", version), *notes),
    )


def plain_label(value: Any, what: str) -> Label:
    """Return the string, number or boolean that a value stands for.

    Parameters
    ----------
    value
        A category or class, as numpy or Python holds it.
    what
        What holds it, for the message.

    Raises
    ------
    UnsupportedModelError
        If it is of another kind. Dates are: numpy would turn some into integers.
    """
    is_date = isinstance(value, np.datetime64 | np.timedelta64)
    plain = value.item() if isinstance(value, np.generic) and not is_date else value
    if not isinstance(plain, str | int | float):
        raise UnsupportedModelError(
            f"{what} holds {value!r} of type {type(value).__name__}; fatt knows "
            "strings, numbers and booleans. Train the model on such values."
        )
    return plain
