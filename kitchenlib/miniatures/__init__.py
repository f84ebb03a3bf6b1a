"""Modern systems in miniature: each is small, runs in NumPy within a second or two, and is real.

`stock` (a state-space layer beside attention), `pantry` (retrieval, by the vectors of `meaning`),
`stations` (a mixture of experts; `specialists` is what they specialise in), `patches` (a picture as
rows), `scratchpad` (steps written down), `appliances` (a loop with `tools`), and `ledger`, which
keeps what each of them changed.
"""
