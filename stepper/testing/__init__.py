"""stepper in tests: recordings of tests that fail, and limits on what a test may compile.

`stepper.testing.plugin` is loaded by pytest itself. Nothing here imports torch, and a test that
asks for none of this is left alone.
"""
