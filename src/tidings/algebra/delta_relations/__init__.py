"""Delta relations: what one relation gained and lost, as both papers write it down.

Relations with tids come in; deltas go out, as the pair ``d_R``/``i_R`` of Sentinel or as the single relation with
``~A`` and ``A~`` of HiPAC, and new states.  It imports nothing but the errors.
"""
