"""What a training asks about trees, compiled ahead: sending, tallies, and changes.

What is asked
-------------
A *split* has an inside and an outside; *boxes* say where people may move. Splits come
in families. In a *chain* the inner sides of the splits contain each other, as those of
growing thresholds do: a person has a rank, and is inside at every split from that rank
on; a box has two, from the first of which on it reaches the inside, and from the second
of which on no longer the outside. In a family of *singles* the inner sides are one
category each: a person is inside at one split, a box reaches some way the splits of its
own categories, and in another way all others. ::

    age <=      20   30   40   50        a chain of four splits: ranks 0 to 4
    own, 27          1 -------->         inside from 30 on
    box, 18..33  0 ------->              reaches the inside from 20 on,
                           2             and from 40 on no longer the outside

So one pass over people and boxes adds up, by rank or by category, what every split of a
family would do or change, and a sum along the family tells it of each split. The sums
are exact, because all numbers are whole.

A tree is an array in prefix order; its leaves are numbered from left to right. A box
reaches a set of leaves, bits in words, and through them a set of labels, of which only
counts whether they are none, one, or several.

What each kernel keeps true
---------------------------
sending
    Each person arrives at one leaf. A box reaches a leaf if it reaches the sides of all
    splits on the way: exact as long as it has no gaps (`fatt.train.models`), and never
    too few.
tallies
    What is inside of each split, and which boxes it tears, of those at one leaf.
around
    People and boxes that reach a node, and what they would find below it. All other
    people are treated as before, whatever stands there.
changes
    Each score is what `sending` would find of the changed tree, to the last unit. Where
    no box crosses a chain, what a box costs is added at its person's own rank; else
    it is added at both ends of the box.

`boundary` checks arrays once, and below are only pointers; `records.pxd` has the
records. Python owns what it hands over; all else lies in one arena per call.
"""
