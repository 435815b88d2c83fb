"""Certificates: evidence that anybody can check, without the search that found it.

The checker knows what an ensemble, a schema and a similarity are, and nothing else: it
has its own way from columns to variables (`columns`, `cells`), from a person to all who
are similar (`similar`), through the trees (`walk`), from leaves to labels and to bounds
on them (`arithmetic`), and its own reason why a box is closed (`closing`). What it took
for granted it says in words (`claims`). It is plain numpy, and compiles nothing.
"""

from fatt.certificate.certificate import Certificate
from fatt.certificate.checker import Checked
from fatt.certificate.claims import Premise
from fatt.certificate.prover import TwinChanges, make

__all__ = ["Certificate", "Checked", "Premise", "TwinChanges", "make"]
