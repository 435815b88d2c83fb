"""Who is similar: schema, similarity, and the boxes they span around a person."""

from fatt.region.boxes import Boxes, code_words
from fatt.region.kinds import Binary, Category, Integer, Number, OneHot, Ordinal
from fatt.region.neighbourhood import Neighbourhood
from fatt.region.population import Population, Space
from fatt.region.schema import Schema
from fatt.region.similarity import Relation, Similarities, Similarity
from fatt.region.variables import Variables

__all__ = [
    "Binary",
    "Boxes",
    "Category",
    "Integer",
    "Neighbourhood",
    "Number",
    "OneHot",
    "Ordinal",
    "Population",
    "Relation",
    "Schema",
    "Similarities",
    "Similarity",
    "Space",
    "Variables",
    "code_words",
]
