"""stepper: step TorchDynamo's symbolic interpreter, forwards and backwards."""

__version__ = "0.1.0"
