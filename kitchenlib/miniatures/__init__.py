"""Modern systems in miniature: each is small, runs in NumPy within a second or two, and is real.

`stock` (a state-space layer beside attention), `pantry` (retrieval), `stations` (a mixture of
experts), `patches` (a picture as rows), `scratchpad` (steps written down), `appliances` (tools),
and `ledger`, which keeps what each of them changed.
"""
