"""Wrong versions of the search and of the checker, which tests must notice.

``make mutants`` tries all of them, ``make test`` a few.
"""
