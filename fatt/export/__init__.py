"""Trees as text, drawing, scikit-learn model or ONNX model."""

from fatt.export.drawing import plot_tree
from fatt.export.onnx import to_onnx
from fatt.export.sklearn import to_sklearn
from fatt.export.text import export_text

__all__ = ["export_text", "plot_tree", "to_onnx", "to_sklearn"]
