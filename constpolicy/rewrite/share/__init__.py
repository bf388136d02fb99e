"""The action `share`: one copy of a constant, in the layout that its fastest reader wants.

A candidate that only moves elements has an index map R with result[R(i)] == source[i]. Its result is evaluated, the
source's other readers are rewritten to read the result at R(i), and the source dies. docs/share.md tells what is
shared and what is not.
"""
