"""The command `hedgerow`: one verb per job and per file, no logic of its own.

In come the arguments of a command line; out go findings on the terminal, the requested files and an exit status. A
verb is a function with `@verb(...)` that parses, calls the library and prints. It imports what it needs inside
the function, so that `hedgerow --help` stays quick.
"""

from hedgerow.cli import (
    compare,
    doctor,
    evaluate,
    export,
    merge,
    monitor,
    predict,
    report,
    select,
    study,
    train,
    tree,
)
from hedgerow.cli.app import BAD_INPUT, app, main
