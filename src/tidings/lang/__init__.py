"""From what users write to bound plans: text is understood here and nowhere else.

Text comes in; statements, as plain records, and bound plans of the IR go out.  Whatever is refused is refused here,
with the place in the text.  Imports only ``analysis``, ``ir`` and ``errors``.
"""
