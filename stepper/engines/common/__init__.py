"""What both engines say in the same words: objects, tensors, code objects, arguments of a call."""
