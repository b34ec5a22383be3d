"""Run the first tutorial: `python -m examples.languages [FOLDER]`, in a checkout."""

import runpy
import sys

if len(sys.argv) > 2 or (sys.argv[1:2] and sys.argv[1].startswith("-")):
    sys.exit(__doc__)
runpy.run_module("examples.tutorials.tutorial_0_languages", run_name="__main__")
