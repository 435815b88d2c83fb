"""How much a model may claim for which its file holds not a byte.

A file of some bytes can name any number of columns, or any large category. Real models
stay far below these bounds; without them a small file could fill the memory.
"""

#: Columns of one model.
FEATURES = 2**17

#: Categories of all columns together; each is listed, also if no split names it.
CODES = 2**20

#: Bits of all category sets together.
SET_BITS = 2**27
