"""
A distance with a limit
=======================

Dwork and others (2012) call people similar who are within a distance of each other.
Here the distance is that of scaled columns, the answer is proved for everybody in the
ball around each person, and the radius is how far the nearest person with another
answer is. It needs ``pip install scikit-lego pandas``.
"""

# %%
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklego.datasets import load_arrests

import fatt

arrests = load_arrests(as_frame=True)
people = arrests[["age", "checks", "year"]]
train, test, label, _ = train_test_split(people, arrests["released"], random_state=0)
model = RandomForestClassifier(20, max_depth=5, random_state=0).fit(train, label)
test = test.head(300)

# %%
# A fitted scaler knows what a unit of each column is worth.
ball = fatt.Similarity.from_scaler(StandardScaler().fit(train), limit=0.5)
print(ball.describe())
report = fatt.verify(model, test, similarity=ball)
print(f"{report.counts['fair']} of {len(test)} are treated like all within 0.5")

# %%
# How far is the nearest person with another answer? All fair people are beyond the
# limit, and all unfair ones within it.
radii = fatt.radius(model, test, similarity=ball)
assert ((radii.lower >= 0.5) == report.is_fair).all()
closest = min(radii, key=lambda one: one.bounds.upper)
print(f"person {closest.index}: {closest.changes}, at {closest.bounds.upper:.3f}")

# %%
# Other norms, and what costs nothing: written by hand.
by_hand = fatt.Similarity(
    distance={"age": 1 / 10, "checks": 1 / 2, "year": 0}, limit=1, norm="l1"
)
print(fatt.verify(model, test, similarity=by_hand).counts)
