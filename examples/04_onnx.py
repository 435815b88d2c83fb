"""
An ONNX model
=============

ONNX is how models leave the library they were trained in. The truth is then what
onnxruntime answers: in float32, and with rounding of its own.
"""

# %%
# A forest is converted, and only the bytes are kept.
import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklego.datasets import load_arrests

arrests = load_arrests(as_frame=True)
people = arrests[["year", "age", "checks"]].astype(np.float32)
people["black"] = (arrests["colour"] == "Black").astype(np.float32)
forest = RandomForestClassifier(n_estimators=30, max_depth=7, random_state=0)
forest.fit(people.to_numpy(), arrests["released"])
proto = to_onnx(forest, people.to_numpy()[:1], options={"zipmap": False})

# %%
# The graph names no columns, and knows no whole numbers: the schema does.
import fatt
from fatt.region import Binary, Integer

model = fatt.load(proto)
print(model)
rows = people.to_numpy()
schema = fatt.Schema(
    columns=("x0", "x1", "x2", "x3"),
    variables=(
        Integer(name="year", columns=("x0",)),
        Integer(name="age", columns=("x1",), lower=12),
        Integer(name="checks", columns=("x2",), lower=0),
        Binary(name="colour", columns=("x3",), levels=("not black", "black")),
    ),
)

# %%
# From four trees on, onnxruntime may add scores in any order. A label that hangs on the
# order would be unknown; here none does.
similarity = fatt.Similarity(vary=["colour"], noise={"age": 1, "checks": 1})
report = fatt.verify(proto, rows, similarity=similarity, schema=schema, n_jobs=-1)
print(report)
for case in report.counterexamples.closest(3):
    print(case)

# %%
# onnxruntime's own answers for all twins.
session = onnxruntime.InferenceSession(proto.SerializeToString())
cases = report.counterexamples
twins = np.array([list(case.twin.values()) for case in cases], dtype=object)
twins[:, 3] = twins[:, 3] == "black"
labels, _ = session.run(None, {session.get_inputs()[0].name: twins.astype(np.float32)})
print("onnxruntime agrees:", (labels == [case.twin_label for case in cases]).all())
