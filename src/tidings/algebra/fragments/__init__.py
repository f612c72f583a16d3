"""Fragmented relations: horizontal, vertical and both nested, each fragment at a site.

Fragments come in; the expression of the whole, its delta from delta fragments, the fragments' shares of a change of the
whole, and what of a condition one site can judge alone go out.
"""
