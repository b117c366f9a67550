"""Is started in a program's place: `python scratch_main.py FILE ARGUMENTS...`, where FILE says in
JSON what to run, and with which text in its files. One more frame stays below the program's first.
"""

if __name__ == "__main__":
    from stepper.debuggee.scratch import begin

    exec(begin(globals()))
