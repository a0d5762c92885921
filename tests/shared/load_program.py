"""Loads a program of tools/, which has no suffix, as a module."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import types

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.append(str(TOOLS))  # they import each other


def load_program(name: str) -> types.ModuleType:
    """Returns the module of tools/`name`. Its main() does not run."""
    loader = importlib.machinery.SourceFileLoader(f"{name}_program", str(TOOLS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
