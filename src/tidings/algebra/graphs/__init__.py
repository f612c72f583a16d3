"""Signal graphs: expressions as operator graphs, with active and passive nodes told apart.

Expressions of either kind come in; text, DOT, Mermaid and drawings in SVG go out.
"""
