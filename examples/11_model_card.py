"""
The audit in a model card
=========================

A model card tells what a model is for and how it was tested. Here skops makes the card,
and the report fills its section on fairness: the counts, the groups, who counts as
similar, and what the verdict does not say. It needs ``pip install scikit-lego pandas
skops``.
"""

# %%
import tempfile
from pathlib import Path

from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklego.datasets import load_arrests
from skops.card import Card

import fatt

arrests = load_arrests(as_frame=True)
people, released = arrests.drop(columns="released"), arrests["released"]
train, test, label, _ = train_test_split(people, released, random_state=0)
columns = make_column_transformer(
    (OneHotEncoder(), ["colour", "sex", "employed", "citizen"]),
    remainder="passthrough",
)
forest = RandomForestClassifier(20, max_depth=6, random_state=0)
model = make_pipeline(columns, forest).fit(train, label)

# %%
# The audit, on people whom the model has not seen.
similarity = fatt.Similarity(noise={"age": 2}, vary=["colour"])
report = fatt.verify(model, test, similarity=similarity)
groups = report.by_group("colour").to_frame().round(3)

# %%
# The card. ``report.to_html()`` may stand beside it as a file.
card = Card(model, model_diagram=False)
card.add(
    **{
        "Fairness": similarity.describe(),
        "Fairness/Limits": "Nothing is said of rates of groups, of whether decisions "
        "are right, or of proxies that stayed equal.",
    }
)
card.add_table(
    **{
        "Verdicts": {name: [count] for name, count in report.counts.items()},
        "Verdicts by colour": {name: groups[name].tolist() for name in groups},
    }
)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "README.md"
    card.save(path)
    text = path.read_text(encoding="utf-8")
print(text[text.index("# Fairness") :])
