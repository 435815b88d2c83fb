"""The paper, line by line: its data, models and similarities, and its tables again."""

from benchmarks.paper.setting import (
    models,
    path_of,
    people,
    schema,
    similarities,
    train,
)

__all__ = ["models", "path_of", "people", "schema", "similarities", "train"]
