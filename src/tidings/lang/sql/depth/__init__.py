"""How large and how deeply nested a text may be, and what makes a deep one shallow before it is read.

A text, or the trees that a parser made of it, comes in; the same text without idle parentheses, the same statements
with long chains as balanced trees, or a refusal goes out.  It may import ``ir`` and ``errors``.
"""
