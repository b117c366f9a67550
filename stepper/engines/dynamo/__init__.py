"""The dynamo engine: watches the `torch._dynamo` that is installed, and changes nothing.

`probes` puts calls to us at the entry of a dozen of Dynamo's functions without adding a frame;
`versions` says which functions those are in each torch version; `describe` says what a
VariableTracker is without touching it; `engine` follows translations, attempts and inlined frames
and reports them to the observer.
"""
