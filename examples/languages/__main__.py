"""Run the first tutorial: `python -m examples.languages [FOLDER]`, in a checkout."""

import runpy

runpy.run_module("examples.tutorials.tutorial_0_languages", run_name="__main__")
