"""CatBoost itself: asked for labels; its leaf values read and written."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.tables import as_frame
from fatt.errors import MissingDependencyError
from fatt.importers.catboost.flatbuffers import fail
from fatt.model import Live

Floats = NDArray[np.float64]
#: What CatBoost calls the numbers of regressors: scores, or their exponentials.
Number = Literal["RawFormulaVal", "Exponent"]


@dataclass(frozen=True)
class CatBoost(Live):
    """A fitted `CatBoost`, `CatBoostClassifier` or `CatBoostRegressor`.

    Attributes
    ----------
    model
        The fitted object.
    predicts
        What kind of number it predicts; None if it has labels.
    """

    model: Any
    predicts: Number | None = None

    def labels(self, table: Any) -> Any:
        """Return the label of each row, or the number."""
        answers = np.asarray(self._predict(table, self.predicts or "Class"))
        return answers.reshape(len(answers))

    def probabilities(self, table: Any) -> Any:
        """Return the probabilities of the classes."""
        return self._predict(table, "Probability")

    def scores(self, table: Any) -> Any:
        """Return the raw scores."""
        return self._predict(table, "RawFormulaVal")

    def _predict(self, table: Any, kind: str) -> Any:
        """Ask the model.

        CatBoost takes no frames of pyarrow, and those of polars not in all types: some
        end the process. It gets the same cells in a frame of pandas.
        """
        frame = as_frame(table)
        if frame is not None and not frame.implementation.is_pandas():
            table = frame.to_pandas()
        return self.model.predict(table, prediction_type=kind)

    def leaves(self) -> Floats:
        """Return what each leaf adds to the scores, of all trees."""
        values = np.asarray(self.model.get_leaf_values(), dtype=np.float64)
        return values.reshape(-1, len(np.ravel(self.model.get_scale_and_bias()[1])))

    def with_leaves(self, values: Floats) -> Any:
        """Return a copy of the model with other leaf values.

        A copy that CatBoost makes by itself cannot be changed, one from a file can.
        """
        changed = type(self.model)()
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.cbm")
            self.model.save_model(path)
            changed.load_model(path)
        changed.set_leaf_values(np.ascontiguousarray(values).ravel())
        return changed


def written(model: Any) -> bytes:
    """Return what a fitted model writes to a ``.cbm`` file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.save_model(str(path))
        return path.read_bytes()


def open_file(data: bytes, predicts: Number | None) -> CatBoost:
    """Let CatBoost read a ``.cbm`` file.

    Parameters
    ----------
    data
        The bytes of the file.
    predicts
        What kind of number the model predicts; None if it has labels.
    """
    import catboost

    model = catboost.CatBoost() if predicts else catboost.CatBoostClassifier()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(data)
        model.load_model(str(path), format="cbm")
    return CatBoost(model, predicts)


_CONVERT = """
import catboost
model = catboost.CatBoost()
model.load_model("model.json", format="json")
model.save_model("model.cbm", format="cbm")
"""
_SECONDS = 600


def from_json(data: bytes) -> bytes:
    """Let CatBoost read a JSON file, and return what it writes to a ``.cbm`` file.

    It does so in a process of its own, which a damaged file may end: CatBoost follows
    whatever numbers it finds.

    Raises
    ------
    MissingDependencyError
        If there is no CatBoost.
    MalformedModelError
        If it cannot read the file.
    """
    if importlib.util.find_spec("catboost") is None:
        raise MissingDependencyError(
            "reading the JSON form of a CatBoost model needs catboost: pip install "
            "catboost. Or save the model as .cbm, which fatt reads without it: "
            "CatBoost().load_model(path, 'json').save_model('model.cbm')."
        )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.json").write_bytes(data)
        command = [sys.executable, "-P", "-c", _CONVERT]
        try:
            run = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise fail(f"CatBoost does not read it in {_SECONDS} seconds") from None
        made = Path(folder, "model.cbm")
        if run.returncode or not made.exists():
            [*_, told] = ["it ended", *run.stderr.strip().splitlines()]
            raise fail(f"CatBoost cannot read the JSON ({told[:200]})")
        return made.read_bytes()
