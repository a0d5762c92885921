"""Code that the scripts of this folder share."""
import os
import shutil

for _k in ("TRAINING_JOB_NAME", "SMDEBUG_CONFIG_FILE_PATH"):
    os.environ.pop(_k, None)
os.environ.setdefault("SMDEBUG_LOG_LEVEL", "error")


def fresh(name):
    """A new empty run folder `name/run`; returns its relative path."""
    shutil.rmtree(name, ignore_errors=True)
    os.makedirs(name)
    return os.path.join(name, "run")
