"""The report: what a recording says, as one file for somebody who has neither it nor stepper.

A recording is asked once, into plain records (`contents`): these are the JSON report, and the page
and the Markdown are drawn from them and from nothing else. So the three say the same, and what may
not leave the house is taken out in one place (`telling`), before anything is drawn.

The page is for every browser, a telephone's and a printer's too: no script, nothing fetched, and a
content security policy that forbids both, should a hostile name ever find a hole in the escaping.
A template engine would save little here: what is written is mostly tables, and elements that escape
what they are given (`markup`) are thirty lines.
"""
