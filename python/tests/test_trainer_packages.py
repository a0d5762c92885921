"""Callbacks without their package, and smdebug without the callbacks."""

import sys

import pytest

from conftest import run_script
from smdebug.pytorch.trainers.optional_import import require

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({gone!r}))  # as if they were not installed
import importlib
try:
    importlib.import_module("smdebug.pytorch.{module}")
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("module", "gone", "package"),
    [
        ("transformers", ["transformers"], "transformers>=4.46"),
        ("accelerate", ["accelerate"], "accelerate>=0.20"),
        ("lightning", ["lightning", "pytorch_lightning"], "lightning>=2.0"),
        ("ignite", ["ignite"], "pytorch-ignite>=0.4.10"),
    ],
)
def test_a_missing_package_is_named_with_the_way_to_get_it(tmp_path, module, gone, package):
    done = run_script(tmp_path, WITHOUT.format(module=module, gone=gone))
    assert f'pip install "{package}"' in done.stdout


def test_one_name_of_lightning_suffices(tmp_path):
    script = WITHOUT.format(module="lightning", gone=["lightning"])
    done = run_script(
        tmp_path,
        script + "print([base.__module__ for base in "
        "sys.modules['smdebug.pytorch.trainers.lightning'].SMDebugCallback.__mro__])",
    )
    assert "pytorch_lightning.callbacks.callback" in done.stdout


def test_a_package_that_is_too_old_is_named_with_its_version(monkeypatch):
    import types

    old = types.ModuleType("an_old_trainer")
    old.__version__ = "0.1"
    old.Callback = object
    monkeypatch.setitem(sys.modules, "an_old_trainer", old)
    with pytest.raises(ImportError, match=r"0\.1 has no Callback\.on_step.*>=3"):
        require("an_old_trainer", ["Callback.on_step"], "an-old-trainer", "3")


def test_smdebug_itself_loads_no_trainer(tmp_path):
    done = run_script(
        tmp_path,
        """
        import sys
        import smdebug.pytorch
        names = ("transformers", "accelerate", "lightning", "pytorch_lightning", "ignite")
        print([name for name in names if name in sys.modules])
        """,
    )
    assert done.stdout.strip() == "[]"
