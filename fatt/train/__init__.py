"""Training: small trees that are accurate and provably fair."""

from fatt.train.classifier import FATTClassifier
from fatt.train.hints import Hints, hinted_cart
from fatt.train.result import Candidate, Front

__all__ = ["Candidate", "FATTClassifier", "Front", "Hints", "hinted_cart"]
