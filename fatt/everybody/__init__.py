"""Questions about everybody there can be, not only about the people of a table.

Each answers for a `fatt.Space`, in a module of its own: the largest gap between two
similar people (`gap`), whether an unfair pair exists (`existence`), which share of the
people is treated unfairly (`share`), and where they are (`where`).

This package stands below the audit. `fatt.Auditor.within` prepares the model in the
variables of a space, `Space.bind` makes a `fatt.region.Population` of it, and the
auditor hands both to the functions here: so its methods `largest_gap`,
`exists_unfair`, `unfair_share` and `where_unfair` are a line or two each. The functions
of the same names in `fatt` make an auditor first, as `fatt.verify` does.
"""
