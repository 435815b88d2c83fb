"""Training: small trees that are accurate and provably fair."""

from fatt.train.classifier import FATTClassifier
from fatt.train.result import Candidate, Front, Hints, hinted_cart

__all__ = ["Candidate", "FATTClassifier", "Front", "Hints", "hinted_cart"]
