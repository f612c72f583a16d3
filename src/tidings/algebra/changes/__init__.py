"""Changes of expressions: by the first principle, by incremental forms, and the chain rule that leads to these.

Expressions and a substitution list come in; deltas, or expressions for deltas, go out.
"""
