"""The questions: verify, score_gap and radius, each a line on top of the auditor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from fatt.audit.arguments import check_schema, check_similarity, check_space
from fatt.audit.asked import Effort, Fair, Rule
from fatt.audit.auditor import Auditor
from fatt.audit.spot_checks import SPOT_CHECKS
from fatt.ensemble import Ensemble, Label
from fatt.ensemble.allowed import Direction
from fatt.ensemble.tables import as_frame
from fatt.errors import SpecError
from fatt.everybody.distributions import Drawn
from fatt.everybody.existence import Existence
from fatt.everybody.gap import LargestGap
from fatt.everybody.share import Share
from fatt.everybody.where import Regions
from fatt.importers import load
from fatt.people import People
from fatt.progress import Progress
from fatt.region import Relation, Schema, Space, Variables
from fatt.region.inference import infer, refuse_broken_groups
from fatt.report import Report
from fatt.report.doubts import stand_ins
from fatt.verdict import Of, Radii, ScoreGaps
from fatt.verifier import Budget


def verify(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    schema: Schema | None = None,
    by_position: bool = False,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    journal: str | Path | None = None,
    spot_checks: int = SPOT_CHECKS,
    threshold: float | None = None,
    cuts: Mapping[str, float] | None = None,
    tolerance: float | str | None = None,
    direction: Direction | None = None,
    favorable: Label | None = None,
) -> Report:
    """Prove of each person that all similar people get the same label, or refute it.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it.
    X
        The people: array, or data frame that `narwhals` knows, one row each.
    similarity
        Who is similar to whom.
    schema
        What the columns mean. By default it is inferred from the model and `X`. Then
        bounds are never guessed, but a group of columns such as ``race=White`` has a
        level for all columns 0 only if a row of `X` shows it, and arrays of floats or
        objects know no whole numbers. For few rows, pass a schema that
        `Schema.infer` made from all the data.
    by_position
        As in `fatt.Auditor`: whether a model without names of columns may take those
        of a data frame in their order.
    budget
        Limits of the search; those that it does not decide are unknown. By default
        there are none.
    n_jobs
        Number of threads, -1 for all processors; by default one. The result does not
        depend on it. Inside ``joblib.parallel_config(backend=...)`` with a backend of
        processes, such as ``"loky"`` or ``"dask"``, people are sent to its workers, and
        this is their number; by default that which joblib was told.
    progress
        True for a bar in the terminal or notebook, on stderr; or a callback, which is
        told the number of people done and the number of all.
    sample_weight
        Weight of each person in the shares of fair people.
    sensitive_features
        What to group people by that need not be a column of `X`: a data frame, a
        mapping from names to columns, a series, or a list, in the order of `X`. The
        model never sees it. `Report.by_group`, the page and plots take it up.
    journal
        File in which findings are kept as they are made. If the run ends early, for
        whatever reason, the same call goes on from there, also with other `n_jobs`, and
        its report is the one of an undisturbed run. Budgets for the whole run count the
        nodes and seconds of all its parts.
    spot_checks
        Where the model's own library is at hand, it is asked for everybody's own
        answer, and for those of so many people at most who are similar to the fair,
        64 to one person; 0 for none of these. The same question gives the same people.
    threshold
        The cut-off by which the model decides: the second of its two classes where
        ``predict_proba(X)[:, 1] >= threshold``. By default the label is that of the
        model itself. `fatt.load` knows more of cut-offs.
    cuts
        The bands by which the model decides, as in `fatt.load`.
    tolerance
        How far the prediction of a similar person may be from the person's own, the
        limit included: fair is ``abs(twin - own) <= tolerance``, as NumPy answers in
        float64 for the library's own predictions; for a text such as ``"5%"``
        ``abs(twin - own) <= 0.05 * abs(own)``. Equal predictions are always fair. Of a
        classifier it is about the probability of the second of two classes; of several,
        pass ``fatt.load(model).predicting(label)``. A regressor needs a tolerance or a
        direction.
    direction
        ``"not lower"`` or ``"not higher"``: only lower, or only higher answers of
        similar people are unfair. Predictions, probabilities (with a tolerance) and
        bands have an order; of labels `favorable` tells which is higher. Without a
        tolerance, predictions may not be lower at all.
    favorable
        The better of the labels, if there is a direction.

    Returns
    -------
    Report
        If the run is interrupted from the keyboard, it holds what is done so far, and
        `Report.interrupted` is true.

    Raises
    ------
    SpecError
        If the similarity or schema names something absent, nobody is similar to
        anybody else, or the threshold contradicts the one that the model was loaded
        with.
    DataError
        If there are no rows, or the model's library refuses one.
    ModelError
        If the model cannot be imported exactly.
    ReplayError
        If the model itself answers otherwise than was found: a bug in `fatt`.
    JournalError
        If the journal is damaged, is about something else, or cannot be written.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> ages = [[20.0], [30.0], [40.0], [50.0]]
    >>> tree = DecisionTreeClassifier().fit(ages, ["deny", "deny", "grant", "grant"])
    >>> report = fatt.verify(tree, ages, similarity=fatt.Similarity(noise={"x0": 6}))
    >>> report.counts
    {'fair': 2, 'unfair': 2, 'unknown': 0}
    >>> report.fairness
    Bounds(lower=0.5, upper=0.5)
    >>> print(report.counterexamples[0])
    #2  grant → deny   x0 40.0 → 35.0
    """
    auditor = auditor_of(
        model,
        X,
        similarity=similarity,
        schema=schema,
        n_jobs=n_jobs,
        by_position=by_position,
        threshold=threshold,
        cuts=cuts,
        tolerance=tolerance,
        direction=direction,
        favorable=favorable,
    )
    return auditor.verify(
        X,
        budget=budget,
        n_jobs=n_jobs,
        progress=progress,
        sample_weight=sample_weight,
        sensitive_features=sensitive_features,
        journal=journal,
        spot_checks=spot_checks,
    )


def score_gap(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    of: Of = "score",
    schema: Schema | None = None,
    by_position: bool = False,
    **effort: Unpack[Effort],
) -> ScoreGaps:
    """Find the largest change of score between each person and all similar people.

    Parameters
    ----------
    model, X, similarity, schema, by_position, n_jobs, progress
        As in `fatt.verify`.
    of
        ``"score"`` for the raw scores that the label rests on, see
        `Ensemble.raw_scores`; ``"probability"`` for what `Model.predict_proba` gives;
        ``"prediction"`` for the number that a regressor predicts.
    budget
        As in `fatt.verify`, for each score.

    Returns
    -------
    ScoreGaps
        Of several scores, the change of the one that changes most.

    Raises
    ------
    SpecError
        If the similarity or schema names something absent, or probabilities are asked
        of a model whose scores are not known to give any.
    DataError
        If there are no rows, or the model's library would refuse one.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[20.0], [50.0]], ["deny", "grant"])
    >>> gaps = fatt.score_gap(
    ...     tree, [[25.0], [34.0]], similarity=fatt.Similarity(noise={"x0": 2}))
    >>> gaps[0].bounds, gaps[1].bounds
    (Bounds(lower=0.0, upper=0.0), Bounds(lower=1.0, upper=1.0))

    Notes
    -----
    For a library without a fixed order of summation the scores are those in the order
    of the trees; its own differ in their last bits.
    """
    auditor = auditor_of(
        model,
        X,
        similarity=similarity,
        schema=schema,
        n_jobs=effort.get("n_jobs"),
        by_position=by_position,
    )
    return auditor.score_gap(X, of=of, **effort)


def radius(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    schema: Schema | None = None,
    by_position: bool = False,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    **rule: Unpack[Rule],
) -> Radii:
    """Find the largest multiple of the noise for which each person is treated fairly.

    Parameters
    ----------
    model, X, similarity, schema, by_position, n_jobs, progress
        As in `fatt.verify`. Only the amounts in `noise` grow and shrink: what may vary,
        and ranges of interchangeable numbers, stay as they are. If there is a distance,
        only its limit does, and the radius is a limit; else, if there is `at_most`,
        only that number does, and the radius is a number of attributes.
    budget
        As in `fatt.verify`, for each multiple that is tried; totals are for all.
    threshold, cuts, tolerance, direction, favorable
        How the model decides, and which answers of similar people are still fair, as in
        `fatt.verify`.

    Returns
    -------
    Radii
        Exact to the last bit where the budget suffices; of a limit, to the 12th digit.

    Raises
    ------
    SpecError
        If the similarity or schema names something absent, or there is no noise that
        could grow.
    DataError
        If there are no rows, or the model's library would refuse one.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[20.0], [50.0]], ["deny", "grant"])
    >>> noise = fatt.Similarity(noise={"x0": 2})
    >>> radii = fatt.radius(tree, [[25.0], [31.0]], similarity=noise)
    >>> [f"{one.bounds.lower:.5f}" for one in radii]
    ['5.00000', '2.00000']

    Notes
    -----
    A larger multiple only adds similar people, so once unfair, always unfair; and it
    changes what the trees can tell apart at finitely many multiples only. All float64
    multiples are bisected, and the search runs only for those that the trees tell apart
    from both ends. Limits and numbers are not bisected: the next search may spend one
    step less than the last twin costs, until there is none.
    """
    auditor = auditor_of(
        model,
        X,
        similarity=similarity,
        schema=schema,
        n_jobs=n_jobs,
        by_position=by_position,
        **rule,
    )
    return auditor.radius(X, budget=budget, n_jobs=n_jobs, progress=progress)


def largest_gap(
    model: Any,
    space: Space,
    *,
    similarity: Relation,
    of: Of = "probability",
    direction: Direction | None = None,
    tolerance: float = 1e-3,
    budget: Budget | None = None,
    progress: Progress | bool | None = None,
) -> LargestGap:
    """Find the largest difference between two similar people anywhere.

    Parameters
    ----------
    model, similarity
        As in `fatt.verify`. The similarity must speak of each variable alone.
    space
        All people that there can be, and which of them are meant. Those similar to
        them may be anybody in the space.
    of
        ``"probability"``, ``"score"`` or ``"prediction"``, as in `fatt.score_gap`.
    direction
        ``"not lower"`` counts only by how much a similar person's number is lower,
        ``"not higher"`` only by how much it is higher. With one-sided noise this tells
        whether a monotone constraint is kept.
    tolerance
        How near both bounds must be.
    budget
        Limits of the whole search. When it is spent, the bounds are as near as they
        came. By default there are none.
    progress
        True for a bar, or a callback: told in thousandths how far the bounds closed.

    Returns
    -------
    LargestGap
        With `bounds`, a `pair`, and the `history` of both bounds. If the run is
        interrupted from the keyboard, the bounds are those reached until then.

    Raises
    ------
    SpecError
        If an argument has no meaning, the space lacks bounds of a number that moves,
        or the similarity ties variables together.
    ReplayError
        If the model itself answers otherwise than was found: a bug in `fatt`.

    Examples
    --------
    Does the probability ever fall if income rises by up to 5?

    >>> import fatt
    >>> from fatt.region import Integer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[20.0], [50.0]], ["deny", "grant"])
    >>> space = fatt.Space({"x0": Integer(lower=0, upper=90)})
    >>> more = fatt.Similarity(noise={"x0": "+5"})
    >>> fatt.largest_gap(
    ...     tree, space, similarity=more, direction="not lower").bounds.lower
    1.0
    """
    auditor = _auditor_of_space(model, space, similarity=similarity)
    return auditor.largest_gap(
        space,
        of=of,
        direction=direction,
        tolerance=tolerance,
        budget=budget,
        progress=progress,
    )


def exists_unfair(
    model: Any,
    space: Space,
    *,
    similarity: Relation,
    gap: float = 0.0,
    between: tuple[float, float] | None = None,
    direction: Direction | None = None,
    budget: Budget | None = None,
    progress: Progress | bool | None = None,
    threshold: float | None = None,
    cuts: Mapping[str, float] | None = None,
) -> Existence:
    """Find two similar people anywhere who are treated differently, if there are any.

    Parameters
    ----------
    model, similarity, space, budget
        As in `fatt.largest_gap`.
    gap
        If above 0: two whose probabilities, or predictions, differ by at least so
        much. By default two who get different labels.
    between
        Two numbers: one person has at most the first, the other at least the second.
    direction
        As in `fatt.largest_gap`; of bands and numbers only.
    progress
        True for a bar, or a callback: told how many questions are done, of how many.
    threshold, cuts
        How the model decides, as in `fatt.load`.

    Returns
    -------
    Existence
        Its `pair`, or that it is `proved` that there is none.

    Raises
    ------
    SpecError
        As `fatt.largest_gap` does, and if a number is asked for that is not known.
    ReplayError
        If the model itself answers otherwise than was found: a bug in `fatt`.

    Examples
    --------
    >>> import fatt
    >>> from fatt.region import Integer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[20.0], [50.0]], ["deny", "grant"])
    >>> noise = fatt.Similarity(noise={"x0": 2})
    >>> old = fatt.Space({"x0": Integer(lower=40, upper=90)})
    >>> fatt.exists_unfair(tree, old, similarity=noise).proved
    True
    >>> young = fatt.Space({"x0": Integer(lower=0, upper=90)})
    >>> print(fatt.exists_unfair(tree, young, similarity=noise))
    Two similar people get different labels: deny → grant   x0 35 → 36
    """
    auditor = _auditor_of_space(
        model, space, similarity=similarity, threshold=threshold, cuts=cuts
    )
    return auditor.exists_unfair(
        space,
        gap=gap,
        between=between,
        direction=direction,
        budget=budget,
        progress=progress,
    )


def unfair_share(
    model: Any,
    space: Space,
    *,
    similarity: Relation,
    people: Any = None,
    distribution: Drawn | None = None,
    confidence: float = 0.99,
    seconds: float = 10.0,
    draws: int = 400_000,
    seed: int = 0,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    **rule: Unpack[Rule],
) -> Share:
    """Find for which share of all people some similar person gets another answer.

    People are drawn, and each is verified exactly; so only chance is between the
    interval and the share. Where the people of a product distribution fall into few
    cells, all are counted instead, and no chance is left.

    Parameters
    ----------
    model, similarity, n_jobs, progress
        As in `fatt.verify`.
    space
        All people that there can be, and which of them are meant. Those similar to
        them may be anybody in the space.
    people
        Table that tells how often values occur; by default that of the space, if it
        was made from one.
    distribution
        How people are drawn. ``"marginals"``: each variable on its own, as often as its
        values occur in the table. ``"rows"``: as rows of the table, of which each value
        is with a chance of 10% that of another row. ``"uniform"``: any value as likely
        as another. Or a function, which is given a `numpy.random.Generator` and a
        number, and returns so many people as the model takes them. By default
        ``"marginals"`` if there is a table, else ``"uniform"``.
    confidence
        The chance with which the interval is to hold the share.
    seconds
        About how long it may take. A pilot tells how many people there is time for.
    draws
        How many people are drawn at most. Where the time suffices for them, the result
        is the same on every machine.
    seed
        The source of chance.
    budget
        Limits of the search for each person, by default 20,000 nodes; those that it
        does not decide widen the interval.
    threshold, cuts, tolerance, direction, favorable
        How the model decides, and which answers of similar people are still fair, as in
        `fatt.verify`.

    Returns
    -------
    Share
        If the run is interrupted from the keyboard, the bounds are those of the people
        reached until then.

    Raises
    ------
    SpecError
        If an argument has no meaning, the space lacks bounds of a number that moves,
        or nobody in it is similar to anybody else.
    DataError
        If the given function draws people outside the space.

    Examples
    --------
    >>> import fatt
    >>> from fatt.region import Integer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[20.0], [50.0]], ["deny", "grant"])
    >>> space = fatt.Space({"x0": Integer(lower=21, upper=60)})
    >>> fatt.unfair_share(tree, space, similarity=fatt.Similarity(noise={"x0": 2}))
    <Share from 0.100000 to 0.100000, confidence 1.0>
    """
    auditor = _auditor_of_space(model, space, similarity=similarity, **rule)
    return auditor.unfair_share(
        space,
        people=people,
        distribution=distribution,
        confidence=confidence,
        seconds=seconds,
        draws=draws,
        seed=seed,
        budget=budget,
        n_jobs=n_jobs,
        progress=progress,
    )


def where_unfair(
    model: Any,
    space: Space,
    *,
    similarity: Relation,
    max_rules: int = 8,
    people: Any = None,
    distribution: Drawn | None = None,
    confidence: float = 0.99,
    seconds: float = 30.0,
    draws: int = 100_000,
    seed: int = 0,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    **rule: Unpack[Rule],
) -> Regions:
    """Find where people are treated unfairly, and where it is proved that nobody is.

    The first are the leaves of a small tree on the verdicts of people who are drawn.
    The second are grown from fair people, for as long as it is proved that the region
    holds no unfair one. Shares and rates are those of other people, drawn afresh.

    Parameters
    ----------
    model, space, similarity, people, distribution, confidence, seed, budget, n_jobs
        As in `fatt.unfair_share`.
    max_rules
        How many regions of either kind there are at most.
    seconds
        About how long it may take; a third of it goes to the people who are drawn.
    draws
        How many people the regions are learnt from at most; half as many measure them.
    progress
        As in `fatt.verify`: told how many steps are done.
    threshold, cuts, tolerance, direction, favorable
        As in `fatt.verify`.

    Returns
    -------
    Regions
        Those that are worth telling; there may be none of either kind.

    Raises
    ------
    SpecError
        As `fatt.unfair_share` and `fatt.largest_gap` do.

    Examples
    --------
    >>> import fatt
    >>> from fatt.region import Integer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[20.0], [50.0]], ["deny", "grant"])
    >>> space = fatt.Space({"x0": Integer(lower=21, upper=60)})
    >>> noise = fatt.Similarity(noise={"x0": 2})
    >>> regions = fatt.where_unfair(tree, space, similarity=noise, draws=5000)
    >>> [one.words for one in regions.unfair]
    ['x0 is from 34 to 37']
    >>> [one.words for one in regions.free]
    ['x0 is at least 38', 'x0 is at most 33']
    """
    auditor = _auditor_of_space(model, space, similarity=similarity, **rule)
    return auditor.where_unfair(
        space,
        max_rules=max_rules,
        people=people,
        distribution=distribution,
        confidence=confidence,
        seconds=seconds,
        draws=draws,
        seed=seed,
        budget=budget,
        n_jobs=n_jobs,
        progress=progress,
    )


def _auditor_of_space(
    model: Any,
    space: Space,
    *,
    similarity: Relation,
    threshold: float | None = None,
    cuts: Mapping[str, float] | None = None,
    **fair: Unpack[Fair],
) -> Auditor:
    """Return an auditor for a space, which tells the schema."""
    check_similarity(similarity)
    check_space(space)
    loaded = load(model, threshold=threshold, cuts=cuts)
    schema = space.schema_of(loaded)
    return Auditor(loaded, similarity=similarity, schema=schema, **fair)


def auditor_of(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    schema: Schema | None,
    n_jobs: int | None = None,
    by_position: bool = False,
    threshold: float | None = None,
    cuts: Mapping[str, float] | None = None,
    **fair: Unpack[Fair],
) -> Auditor:
    """Return an auditor for certain people, who tell the schema if there is none."""
    check_similarity(similarity)
    check_schema(schema)
    known = X if schema is None else schema
    model = load(model, threshold=threshold, cuts=cuts)
    try:
        return Auditor(
            model,
            similarity=similarity,
            schema=known,
            n_jobs=n_jobs,
            by_position=by_position,
            **fair,
        )
    except SpecError:
        if schema is not None:
            # What is absent may be a group of columns that the schema tears apart.
            refuse_broken_groups(similarity, Variables(model.ensemble, schema), X)
        _refuse_unread(similarity, model.ensemble, schema, X)
        raise


def _refuse_unread(
    similarity: Relation, ensemble: Ensemble, schema: Schema | None, X: Any
) -> None:
    """Say of a name that it is a column of the table which the model does not read."""
    frame = as_frame(X)
    if frame is None or not ensemble.inputs.named:
        return
    variables = Variables(ensemble, infer(ensemble, X) if schema is None else schema)
    known = {*variables.schema.columns, *(v.name for v in variables.schema.variables)}
    for name in similarity.names:
        if name not in known and name in frame.columns:
            raise SpecError(
                f"the model does not read the column {name!r} of this table, so that "
                "it cannot matter on its own; vary what stands for it. "
                + stand_ins(People(X, variables), name)
            )
