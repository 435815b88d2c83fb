"""`FATTClassifier`: one small tree, accurate and provably fair."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fatt.ensemble import Ensemble
from fatt.errors import DataError, SpecError
from fatt.region import Relation, Schema
from fatt.threads import n_threads
from fatt.train.groups import Groups, group_people, positive_class
from fatt.train.models import HeldOut, leaves_of, paths_of
from fatt.train.people import (
    People,
    gather_people,
    hold_out,
    read_labels,
    read_table,
    schema_of,
)
from fatt.train.result import Candidate
from fatt.train.settings import Settings
from fatt.train.splits import blank_tree
from fatt.train.training import train

#: How far off a sum of units of fitness may be from what they are rounded from.
_ROUNDING = 1e-9

_ONLY_MEASURED = (
    "groups are named, and nothing says how close they must be: their gap is measured, "
    "and not made smaller. Pass max_gap=0.1, min_ratio=0.8 or group_weight=0.3; "
    "max_gap=1 says that only measuring is meant."
)


# scikit-learn compares and prints estimators in ways of its own.
@dataclass(eq=False, repr=False)
class FATTClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A small decision tree that is accurate and provably fair to individuals.

    The training searches for the tree with the best weighted sum of accuracy and
    fairness. Fairness is the share of training people who are treated fairly. It is
    certified for every tree that the search looks at.

    Parameters
    ----------
    similarity : Similarity
        Who is similar to whom.
    fairness_weight : float or "auto", default "auto"
        Weight of fairness; the rest is the weight of accuracy. ``"auto"`` chooses a
        weight with which it is worth 1.5 points of accuracy to halve the share of
        people who are treated unfairly. For the paper's algorithm ``"auto"`` is 0.2.
    min_fairness : float, optional
        The share of training people who must be treated fairly. The smallest weight of
        fairness is chosen that reaches it.
    group : str or list of str, optional
        The variables that make groups. The groups' rates of `pos_label` are compared.
        Several variables make intersections. For groups that the tree may not read,
        pass `sensitive_features` to `fit`.
    constraint : str, default "demographic_parity"
        Which rates are compared. ``"demographic_parity"``: those of all people;
        ``"true_positive_rate_parity"``: those of people whose true label is
        `pos_label`; ``"false_positive_rate_parity"``: those of the other people;
        ``"equalized_odds"``: both of the last two.
    max_gap : float, optional
        The largest difference between the rates of two groups. The tree keeps a margin
        of one standard error. The gap is an estimate, and no proof. With 1 the gap is
        only measured.
    min_ratio : float, optional
        Instead, the smallest ratio of two rates; 0.8 is the rule of four fifths.
    group_weight : float, optional
        Instead, how much accuracy a gap of 1 costs.
    pos_label : label, optional
        The label whose rates are compared. Default: the second of two classes.
    validation_fraction : float, optional
        The share of the people of each class who are held out of the training. The
        trees of the front are judged on them as well. By default none are held out.
    algorithm : {"descent", "paper"}, default "descent"
        ``"descent"`` gives each node in turn the best of all splits that it may have;
        ``"paper"`` is the genetic algorithm of Ranzato, Urban and Zanella.
    balance : float, optional
        From 0, where accuracy counts people alike, to 1, where it counts classes alike;
        0.2 by default, 0 in the paper.
    class_weight : dict, "balanced" or None, default None
        What the people of each class count in accuracy, as in scikit-learn.
    max_depth, max_leaves : int, optional
        Limits of the tree; 60 and 40 by default.
    min_samples_leaf : int, optional
        Smallest number of people at a leaf. Default: 5, or a quarter of a percent of
        all people if that is more; 1 for the paper's algorithm.
    leaf_cost : float, optional
        How many more people each further leaf must get right. Default: 1.5; 3 for more
        than 20,000 people, where labels count and no larger model's probabilities; 0
        for the paper's algorithm.
    max_bins : int, default 64
        Into how many parts a column of numbers is cut.
    split_on_varying : bool, optional
        Whether the tree may split on a variable that varies freely for all people. Such
        a split is unfair to all people who reach it. Only the paper's algorithm does so
        by default.
    schema : Schema, optional
        What the columns mean; inferred from the training table by default.
    max_iter : int, optional
        How often a descent goes through all nodes of its tree at most, 50 by default.
        For the paper's algorithm the largest number of generations, 100 by default.
    max_seconds : float, optional
        After how many seconds to stop. Only with this parameter does the result depend
        on the machine.
    keep_interrupted : bool, default False
        Whether Ctrl-C ends the training with the best tree so far, if there is one.
    n_jobs : int, optional
        Number of threads; -1 for all processors. The result does not depend on it.
    verbose : int, default 0
        Whether to show a progress bar.
    random_state : int, RandomState or None, default None
        Seed of all random choices.
    population_size, elitism : int, optional
        Only for the paper's algorithm, like all that follow: how many trees a
        generation has, and how many of the best survive unchanged. Default: 32 and 1.
    selection : {"wheel", "best"}, optional
        How parents are chosen. ``"wheel"``, the default: each tree in proportion to its
        fitness. ``"best"``: nearly always the best tree, as in the program that the
        paper's authors published.
    mutation : {"grow-prune", "grow"}, optional
        Whether mutations also prune trees, as by default, or only grow them.
    initial : {"blank", "forest"}, optional
        The first trees: of a single leaf, as by default, or those of a random forest.
    split_share : float, optional
        The share of all splits that is tried when a leaf is split by mutation; 0.1 by
        default.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    n_classes_ : int
        How many there are.
    feature_importances_ : ndarray of shape (n_columns,)
        How much the splits on each column lower Gini's impurity; the sum is 1, as in
        scikit-learn.
    ensemble_ : Ensemble
        The tree, as `fatt.load` returns it.
    schema_ : Schema
        What the columns mean.
    similarity_ : Similarity
        Who was similar to whom in the training.
    front_ : Front
        All trees that no other beats in accuracy, fairness and size at once.
    accuracy_, balanced_accuracy_, fairness_ : float
        What the tree reaches on the training people; fairness is certified.
    gap_ : float
        How far the rates of groups lie apart among the training people; absent without
        groups.
    gap_interval_ : tuple of float
        The 95 % interval of the gap for new people. It is estimated from the people who
        were held out, if `validation_fraction` is given. Else it is estimated from the
        training people, and a little too small: the tree was chosen for them.
    held_out_ : Figures or None
        What the tree reaches on the people who were held out of the training.
    fairness_weight_ : float
        The weight of fairness with which the tree was chosen.
    optimal_gap_ : float or None
        How much fitter a tree within the limits can be at most; 0 if it is proved that
        none is fitter. If `max_leaves` is at most 4, better trees are searched for.
        Else the bound is a tree that gives each person the best label and treats all
        fairly. None with groups, and for the paper's algorithm.
    hints_ : Hints
        Depth and smallest leaf of the tree, as parameters for other learners.
    n_iter_ : int
        Number of passes over trees in all descents, or of generations.
    interrupted_ : bool
        Whether the training was interrupted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray
        Names of the columns, if all are texts.

    Examples
    --------
    >>> import numpy as np
    >>> from fatt import FATTClassifier, Similarity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = (X[:, 0] + rng.normal(size=500) > 0).astype(int)
    >>> tree = FATTClassifier(Similarity(noise={"x0": 0.1}), random_state=0).fit(X, y)
    >>> tree.fairness_ > 0.9
    True
    """

    similarity: Relation | None = None
    _: KW_ONLY
    fairness_weight: float | Literal["auto"] = "auto"
    min_fairness: float | None = None
    group: str | Sequence[str] | None = None
    constraint: str = "demographic_parity"
    max_gap: float | None = None
    min_ratio: float | None = None
    group_weight: float | None = None
    pos_label: Any = None
    validation_fraction: float | None = None
    algorithm: Literal["descent", "paper"] = "descent"
    balance: float | None = None
    class_weight: Any = None
    max_depth: int | None = None
    max_leaves: int | None = None
    min_samples_leaf: int | None = None
    leaf_cost: float | None = None
    max_bins: int = 64
    split_on_varying: bool | None = None
    schema: Schema | None = None
    max_iter: int | None = None
    max_seconds: float | None = None
    keep_interrupted: bool = False
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None
    population_size: int | None = None
    elitism: int | None = None
    selection: str | None = None
    mutation: str | None = None
    initial: str | None = None
    split_share: float | None = None

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: Any = None,
    ) -> FATTClassifier:
        """Train the tree.

        Parameters
        ----------
        X
            The people: two-dimensional array, or data frame that `narwhals` knows, with
            numbers and categories; missing values are taken as they are.
        y : array-like of shape (n_people,)
            Their labels.
        sample_weight : array-like of shape (n_people,), optional
            Their weights, in accuracy and in fairness.
        sensitive_features : array-like of shape (n_people,) or (n_people, n), optional
            What makes groups, instead of `group`; the tree does not read it.

        Raises
        ------
        SpecError
            If a parameter makes no sense, or does not fit the columns.
        DataError
            If the people or their labels cannot be used.
        """
        X = read_table(self, X, is_new=True)
        labels = read_labels(X, y, sample_weight, self.class_weight)
        self.classes_, self.n_classes_ = labels.classes, len(labels.classes)
        random = check_random_state(self.random_state)
        rng = np.random.default_rng(random.randint(2**31 - 1))
        is_held = hold_out(labels.codes, self.validation_fraction, rng)
        settings = Settings.of(self.get_params(deep=False), int((~is_held).sum()))
        names = list(getattr(self, "feature_names_in_", ()))
        blank = blank_tree(
            X,
            names or [f"x{place}" for place in range(self.n_features_in_)],
            named=bool(names),
            classes=tuple(self.classes_.tolist()),
        )
        schema, similarity = self._meaning(X, blank)
        gathered = gather_people(
            X,
            labels,
            blank=blank,
            schema=schema,
            similarity=similarity,
            balance=settings.balance,
        )
        group_of = group_people(
            self.group, sensitive_features, X, gathered, asked=settings.asked_of_groups
        )
        people = gathered
        if is_held.any():
            people = gathered.of_people(np.flatnonzero(~is_held))
        groups = None
        if group_of is not None:
            groups = self._groups(group_of[~is_held], people)
            if settings.asked_of_groups is None and self.max_gap is None:
                warnings.warn(_ONLY_MEASURED, stacklevel=2)
        trained = train(
            people,
            settings,
            rng=rng,
            n_threads=n_threads(self.n_jobs),
            groups=groups,
            held_out=self._held_out(gathered, group_of, is_held),
            verbose=bool(self.verbose),
            keep_interrupted=self.keep_interrupted,
        )
        self.schema_, self.similarity_ = schema, similarity
        self.front_ = trained.front
        self.fairness_weight_ = trained.fairness_weight
        self.n_iter_ = trained.n_iter
        self.interrupted_ = trained.interrupted
        self._has_groups = groups is not None
        self._upper = trained.upper
        self._take(trained.best)
        for complaint in trained.complaints(settings):
            warnings.warn(complaint, stacklevel=2)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each person.

        Parameters
        ----------
        X
            The people.
        """
        check_is_fitted(self)
        encoded = self.ensemble_.encode(read_table(self, X))
        return np.asarray(self.classes_[self.ensemble_.decide(encoded)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each class at the leaf where each person arrives.

        Classes and people count as they did in the training. Where a leaf has another
        label than most of its people, for fairness, the shares are moved just so far
        that the label has the largest.

        Parameters
        ----------
        X
            The people.
        """
        check_is_fitted(self)
        return self.ensemble_.raw_scores(read_table(self, X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X
            The people.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_path(self, X: Any) -> Any:
        """Return which nodes each person passes on the way to a leaf.

        Parameters
        ----------
        X
            The people.

        Returns
        -------
        sparse matrix of shape (n_people, n_nodes)
            1 where a person passes a node of ``ensemble_.trees.nodes``, else 0.
        """
        check_is_fitted(self)
        return paths_of(self.ensemble_, read_table(self, X))

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf where each person arrives, as an index of its nodes.

        Parameters
        ----------
        X
            The people.

        Returns
        -------
        ndarray of shape (n_people,)
            Indices of ``ensemble_.trees.nodes``.
        """
        check_is_fitted(self)
        return leaves_of(self.ensemble_, read_table(self, X))

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.ensemble_.trees.n_leaves

    def get_depth(self) -> int:
        """Return the depth of the tree; a single leaf has depth 0."""
        check_is_fitted(self)
        return int(self.ensemble_.trees.depths().max())

    def with_tree(self, candidate: Candidate) -> FATTClassifier:
        """Return a copy of the classifier that answers with another tree.

        Parameters
        ----------
        candidate
            One of the trees of ``front_``, as ``front_.select(min_fairness=0.99)``
            returns it.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other._take(candidate)
        return other

    def _take(self, chosen: Candidate) -> None:
        """Answer with this tree from now on."""
        self.ensemble_ = chosen.ensemble
        self.accuracy_ = chosen.accuracy
        self.balanced_accuracy_ = chosen.balanced_accuracy
        self.fairness_ = chosen.fairness
        self.hints_ = chosen.hints
        self.feature_importances_ = chosen.importances
        self.held_out_ = chosen.held_out
        self.optimal_gap_ = None
        if self._upper is not None:
            # Fitness is rounded a little less than the units that it is proved in.
            gap = self._upper - chosen.fitness
            self.optimal_gap_ = gap if gap > _ROUNDING else 0.0
        if self._has_groups:
            self.gap_ = chosen.gap
            self.gap_interval_ = (chosen.held_out or chosen).gap_interval

    def _meaning(self, X: Any, blank: Ensemble) -> tuple[Schema, Relation]:
        """Return what the columns mean, and who is similar, which has no default."""
        if not isinstance(self.similarity, Relation):
            raise SpecError(
                f"similarity is {self.similarity!r}; say who is similar to whom, such "
                "as Similarity(noise={'age': 3}, vary=['sex'])."
            )
        schema = self.schema
        if schema is None:
            moves = self.similarity.moves
            names = [move.name for move in moves if move.name is not None]
            schema = schema_of(X, blank, names)
            strange = set(names).difference(
                schema.columns, (variable.name for variable in schema.variables)
            )
            if strange and not blank.inputs.named:
                raise SpecError(
                    f"similarity names {min(strange)!r}, and the table has no names of "
                    "columns; pass a data frame, or, behind a step of scikit-learn, "
                    "let the step make one with set_output(transform='pandas')."
                )
        return schema, self.similarity

    def _groups(self, group_of: NDArray[Any], people: People) -> Groups:
        """Return what the rates of groups are made of."""
        positive = positive_class(self.pos_label, self.classes_.tolist())
        return Groups.of(
            group_of, people.codes, people.weights, self.constraint, positive
        )

    def _held_out(
        self,
        gathered: People,
        group_of: NDArray[Any] | None,
        is_held: NDArray[np.bool_],
    ) -> HeldOut | None:
        """Return the people who are held out, if there are any."""
        if not is_held.any():
            return None
        people = gathered.of_people(np.flatnonzero(is_held))
        if group_of is None:
            return HeldOut(people, None)
        try:
            return HeldOut(people, self._groups(group_of[is_held], people))
        except DataError as error:
            raise DataError(
                f"among the {len(people.codes)} people held out: {error} Or hold out "
                "more, by validation_fraction."
            ) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        # What scikit-learn 1.5 asks instead.
        return {"allow_nan": True}
