"""The people and twins of a certificate, asked of the model itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from fatt.audit.replay import Replay
from fatt.certificate import Certificate
from fatt.errors import CertificateError, ReplayError
from fatt.model import Model
from fatt.people import People
from fatt.region import Variables
from fatt.verdict import UNFAIR


def confirm_twins(certificate: Certificate, model: Model, X: Any) -> bool:
    """Ask a model's own library for the labels of all people and twins.

    Parameters
    ----------
    certificate
        A certificate that was checked with these people.
    model
        The model that it is about.
    X
        The people.

    Returns
    -------
    bool
        Whether the model was asked about twins; False if its library is not at hand,
        or if nobody is unfair.

    Raises
    ------
    CertificateError
        If the model gives other labels.
    """
    unfair = np.flatnonzero(certificate.verdicts == UNFAIR)
    people = People(X, Variables(model.ensemble, certificate.schema))
    label = certificate.labels[unfair].astype(np.int64)
    replay = Replay(model, people.variables)
    try:
        answers = replay.everybody(people)
        if answers is not None:
            replay.compare(people, 0, answers, certificate.labels)
        if not len(unfair):
            return False
        _, is_asked = replay.twins(
            people, unfair, certificate.values[unfair], certificate.twins(), label
        )
    except ReplayError as error:
        raise CertificateError(str(error)) from error
    return is_asked
