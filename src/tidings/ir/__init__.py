"""The relational IR: the nodes of a plan, scalar expressions and types.

Data only: what a node is, when it is valid, its text form, how to walk it.  What a plan means, how it is made better
and how it is printed as SQL is known elsewhere.  Imports only ``errors``.
"""
