"""ONNX models of trees, as onnxruntime runs them."""

from fatt.importers.onnx.model import convert, read

__all__ = ["convert", "read"]
