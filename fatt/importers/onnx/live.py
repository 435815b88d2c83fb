"""onnxruntime itself, asked for the labels of an ONNX model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble
from fatt.model import Live, NotAtHand

Floats = NDArray[np.float64]

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}
_LABELS = {"tensor(int32)", "tensor(int64)", "tensor(string)"}


@dataclass(frozen=True)
class OnnxRuntime(Live):
    """A session, and how its model reads people."""

    session: Any
    ensemble: Ensemble

    def labels(self, table: Any) -> Any:
        """Return the output of labels, or the only one, of predictions."""
        outputs = _label_outputs(self.session)
        return np.ravel(self.session.run(outputs, self._feed(table))[0])

    def probabilities(self, table: Any) -> Any:
        """Return the output of probabilities, of which there must be one."""
        outputs = [o.name for o in self.session.get_outputs() if o.type not in _LABELS]
        if len(outputs) != 1:
            raise NotAtHand(f"it has {len(outputs)} outputs of probabilities")
        found = self.session.run(outputs, self._feed(table))[0]
        if isinstance(found, list):
            # A map from label to probability for each row.
            return np.array([list(row.values()) for row in found], dtype=np.float32)
        return found

    def scores(self, table: Any) -> Any:
        """Refuse: what comes out of a session is behind the last function."""
        raise NotAtHand("onnxruntime hands out no scores")

    def _feed(self, table: Any) -> dict[str, Any]:
        """Return what goes into each input of the session."""
        matrix = self.ensemble.read(table)
        feed, start = {}, 0
        for item in self.session.get_inputs():
            # One that takes any width is the only input.
            is_fixed = isinstance(item.shape[1], int)
            stop = start + item.shape[1] if is_fixed else matrix.shape[1]
            cells = matrix[:, start:stop]
            if item.type in _TYPES:
                with np.errstate(over="ignore"):
                    feed[item.name] = cells.astype(_TYPES[item.type])
            else:
                feed[item.name] = self._texts(start, cells)
            start = stop
        return feed

    def _texts(self, start: int, codes: Floats) -> NDArray[Any]:
        """Return the labels of columns of codes."""
        texts = np.empty(codes.shape, dtype=object)
        for place, column in enumerate(codes.T):
            feature = self.ensemble.features[start + place]
            assert isinstance(feature, Categorical)
            unknown = "?" + "".join(map(str, feature.categories))
            known = [*map(str, feature.categories), unknown]
            texts[:, place] = [known[int(code)] for code in column]
        return texts


def session_of(data: bytes) -> Any:
    """Let onnxruntime read a model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        data, options, providers=["CPUExecutionProvider"]
    )


def open_model(data: bytes, ensemble: Ensemble) -> OnnxRuntime:
    """Let onnxruntime answer for a model.

    Parameters
    ----------
    data
        The bytes of the model.
    ensemble
        What was read of it.

    Raises
    ------
    NotAtHand
        If it is not clear which output holds the labels or predictions.
    """
    session = session_of(data)
    outputs = _label_outputs(session)
    if len(outputs) != 1:
        raise NotAtHand(f"it has {len(outputs)} outputs of labels")
    return OnnxRuntime(session, ensemble)


def _label_outputs(session: Any) -> list[str]:
    outputs = session.get_outputs()
    labels = [output.name for output in outputs if output.type in _LABELS]
    return [outputs[0].name] if not labels and len(outputs) == 1 else labels
