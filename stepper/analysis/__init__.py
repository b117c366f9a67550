"""Questions asked of a recording, answered from what is in it: why was it compiled again, why did
the graph break, what is this guard for, what differs.

Nothing is run here and nothing is guessed. An answer says what was recorded, at which moment, and
what follows from that alone; where a recording does not hold what is needed it says what to record
(`--lookups`, mostly). Advice is called advice: nobody has tried it.

Everything goes through the reader, so that the stored form can change. The modules that answer
give back records; the ones whose names end in `lines` put them into words, the same for the command
line, the console and the screen.
"""
