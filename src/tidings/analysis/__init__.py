"""Facts about plans and expressions, one per file: what a plan reads, how many rows it has, where the engines agree.

A plan or an expression comes in, an answer about it goes out; nothing is changed.  Imports only ``ir``.
"""
