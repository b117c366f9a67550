"""The engines: compilers that stepper can watch, each behind the face in
`stepper.debuggee.engine`.
"""
