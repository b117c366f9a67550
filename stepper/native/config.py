"""What a user may set. Every name is one that the documents or Dynamo use for the same thing."""

from __future__ import annotations

cache_size_limit = 8
"""Captures of one code object; a frame that needs one more runs as it is from then on."""

guard_nn_modules = True
"""Check modules for hooks and for another `training` mode; off, only which module it is."""

automatic_dynamic_shapes = True
"""A size or a number that has changed between two captures of a code is a symbol in the second."""

specialize_int = False
"""Ints of the program are always known, also those that change."""

capture_scalar_outputs = False
"""What `Tensor.item` and `tolist` give are symbols without a value, and break no graph. So it is
also where a function is to be one graph, and where Dynamo's setting of this name is on."""

capture_dynamic_output_shape_ops = False
"""Sizes that depend on the data, as of `nonzero`, are symbols without a value. So it is also where
a function is to be one graph, and where Dynamo's setting of this name is on."""

max_instructions = 200_000
"""Instructions that one translation may interpret, before the frame is given up."""

max_inline_depth = 50
"""Calls within calls that are inlined."""

verbose = False
"""Log why frames are not captured and graphs are broken, through `logging`."""

capture_everything = False
"""For tests: also capture frames in which no tensor is in sight, Python's own among them."""

raise_internal_errors = False
"""For tests: defects of the translator are raised, and not only reported."""
