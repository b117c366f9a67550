"""Watches the native compiler, `stepper.native`: what `engines.dynamo` is to torch's.

`engine` is what the debugger sees of it.
"""
