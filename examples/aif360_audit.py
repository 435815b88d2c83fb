"""
Audit a boosted model inside an AIF360 workflow
===============================================

Whoever measures a model with AIF360's ``ClassificationMetric`` gets a proof for each
person from ``IndividualFairnessMetric``: one more import, and one more argument.
"""

# %%
# The workflow as it was: a dataset, a split, a scaler, XGBoost, and its predictions.
# AIF360 takes texts as objects, which those of pandas 3 are not by themselves.
from aif360.datasets import StandardDataset
from sklearn.preprocessing import StandardScaler
from sklego.datasets import load_arrests
from xgboost import XGBClassifier

from fatt import Similarity
from fatt.aif360_ext import (
    IndividualFairnessMetric,
    IndividualFairnessTextExplainer,
)

arrests = StandardDataset(
    load_arrests(as_frame=True).astype(object),
    label_name="released",
    favorable_classes=["Yes"],
    protected_attribute_names=["colour", "sex"],
    privileged_classes=[["White"], ["Male"]],
    categorical_features=["employed", "citizen"],
)
train, test = arrests.split([0.7], shuffle=True, seed=0)
scaler = StandardScaler().fit(train.features)
model = XGBClassifier(n_estimators=100, max_depth=4)
model.fit(scaler.transform(train.features), train.labels.ravel())

predicted = test.copy()
predicted.labels = model.predict(scaler.transform(test.features)).reshape(-1, 1)

# %%
# All of AIF360's metrics, and the share of people who are proved to be treated like all
# people who differ in colour and sex alone.
metric = IndividualFairnessMetric(
    test,
    predicted,
    unprivileged_groups=[{"colour": 0}],
    privileged_groups=[{"colour": 1}],
    model=model,
    prepare=scaler,
)
explainer = IndividualFairnessTextExplainer(metric)
print(explainer.accuracy())
print(explainer.statistical_parity_difference())
print(explainer.individual_fairness())
print(explainer.individual_unfairness_difference())

# %%
# Another similarity, in the units of the dataset: up to two years of age besides. Every
# unfair person comes with a twin, who was replayed on XGBoost itself.
wider = IndividualFairnessMetric(
    test,
    predicted,
    model=model,
    prepare=scaler,
    similarity=Similarity(noise={"age": 2}, vary=["colour", "sex"]),
)
print(f"with two years of age: {wider.individual_fairness():.4f}")
for case in wider.counterexamples().closest(3):
    print(case, f"(replayed on the {case.replayed_on})")
