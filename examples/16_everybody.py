"""
What a model can do to anyone
=============================

A table holds some people. A model will answer others. These questions are about
everybody there can be: the largest effect of colour on a probability, for how many
people colour changes the answer, and where it never does.
"""

# %%
# The model: boosted trees on real arrests.

from sklearn.ensemble import RandomForestClassifier
from sklego.datasets import load_arrests

import fatt

arrests = load_arrests(as_frame=True)
people = arrests[["age", "year", "checks"]].assign(
    black=(arrests["colour"] == "Black").astype(int),
    employed=(arrests["employed"] == "Yes").astype(int),
    citizen=(arrests["citizen"] == "Yes").astype(int),
)
model = RandomForestClassifier(20, max_depth=5, random_state=0)
model.fit(people, arrests["released"])

# %%
# All people between the values of the table, likely or not.

space = fatt.Space.from_table(people)
similarity = fatt.Similarity(vary=["black"])

# %%
# Colour alone changes nobody's probability by more than this, and here are two for
# whom it does.

gap = fatt.largest_gap(model, space, similarity=similarity, tolerance=0.01)
print(f"at most {gap.bounds.upper:.3f}: {gap.pair}")

# %%
# For this share of the people colour changes the answer, if each column is drawn as
# often as its values occur in the table.

share = fatt.unfair_share(model, space, similarity=similarity, seconds=30)
print(share)

# %%
# Where they are, and where it is proved that there is nobody.

regions = fatt.where_unfair(
    model, space, similarity=similarity, max_rules=4, draws=10_000, seconds=60
)
for region in [*regions.unfair, *regions.free]:
    print(f"- {region}")
