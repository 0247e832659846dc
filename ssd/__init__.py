"""Staged speculative decoding: the same text as the target model alone, in fewer passes.

Dimension key of every shape in this package: `N` nodes (root included), `T` tokens in one forward,
`S` cache slots, `V` vocabulary, `L` layers, `H` heads, `D` head size. There is no batch dimension.
Read `decode.py` first.
"""
