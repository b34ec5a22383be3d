"""What `import hedgerow` brings along."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hedgerow

HEAVY = ("torch", "sklearn", "matplotlib", "scipy", "pyarrow", "rich", "onnx")


def printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_hedgerow_imports_no_heavy_library() -> None:
    assert printed(f"import sys, hedgerow; print([name for name in {HEAVY} if name in sys.modules])") == "[]\n"


def test_methods_are_there_and_imported_on_first_use() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    code = "import sys, hedgerow; print(hedgerow.methods.available()[0], 'torch' in sys.modules)"
    assert printed(code) == "flat-softmax True\n"


def test_names_do_not_depend_on_what_is_installed() -> None:
    assert {"HedgedClassifier", "cluster", "methods", *hedgerow.__all__} <= set(dir(hedgerow))
    hidden = "sys.modules['torch'] = sys.modules['distributed'] = None"
    code = f"import sys; {hidden}; from hedgerow import *; print('evaluate' in globals())\n"
    code += "import hedgerow\ntry: hedgerow.methods\n"
    assert printed(code + "except ImportError as error: print(error)") == (
        "True\nmethods needs torch, which is not installed: pip install 'hedgerow[torch]'\n"
    )
