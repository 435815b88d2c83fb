"""Compiled functions over sets of people as bits.

A set of people takes one bit per person, so that a split sends 64 people at a time. A
tree is an array of integers in prefix order: a split by its number, then its left and
its right subtree; a leaf with class ``c`` is ``-1 - c``.

Everybody has the same number of boxes, which are laid out one after the other: word
``w`` of the first boxes, then of the second ones, and so on.

Few people reach a node deep in a tree, and they lie close together (see
`fatt.train.order`): most words of its sets are zero. Only the others are gone through.

Imported only when trees are trained: numba costs half a second to import, and a few
seconds to compile the kernels the first time on a machine.
"""
