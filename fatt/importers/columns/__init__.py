"""Columns before a model: each is a path of steps from one raw column.

`wiring` sends the raw columns through fitted transformers, of which `transformers`,
`curves` and `encoders` know the classes. `raw` settles what each raw column holds, and
`pullback` rewrites the model's splits once, by the algebra of `algebra`.
"""
