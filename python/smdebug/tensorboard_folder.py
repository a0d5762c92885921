"""Where a hook writes its files for TensorBoard.

Outside a cloud job the arguments decide. In one the platform does: the file that
TENSORBOARD_CONFIG_FILE_PATH names says where the platform looks for them, and no file means that
nobody looks.
"""

import json
import os

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

DEFAULT_CONFIG_FILE = "/opt/ml/input/config/tensorboardoutputconfig.json"
DEFAULT_FOLDER_OF_JOB = "/opt/ml/output/tensorboard"


def tensorboard_folder(out_dir, export_tensorboard=False, tensorboard_dir=None):
    """The folder, or None where nothing is written for TensorBoard.

    Raises SMDebugTypeError or SMDebugValueError for arguments, and for a configuration file of
    the job, that name no folder.
    """
    if not isinstance(export_tensorboard, bool):
        raise SMDebugTypeError(
            f"export_tensorboard must be True or False, found {export_tensorboard!r}"
        )
    if tensorboard_dir is not None:
        tensorboard_dir = _checked_path(tensorboard_dir)
    if "TRAINING_JOB_NAME" in os.environ:
        return _folder_of_job()
    if tensorboard_dir is not None:
        return tensorboard_dir
    return f"{out_dir.rstrip('/')}/tensorboard" if export_tensorboard else None


def _checked_path(tensorboard_dir):
    if not isinstance(tensorboard_dir, (str, os.PathLike)):
        raise SMDebugTypeError(f"tensorboard_dir must be a path, found {tensorboard_dir!r}")
    path = os.fspath(tensorboard_dir)
    if not isinstance(path, str) or not path:
        raise SMDebugValueError(
            f"tensorboard_dir names no folder, found {path!r}; leave it out for the default"
        )
    return path


def _folder_of_job():
    path = os.environ.get("TENSORBOARD_CONFIG_FILE_PATH", DEFAULT_CONFIG_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            folder = json.load(file).get("LocalPath", DEFAULT_FOLDER_OF_JOB)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        raise SMDebugValueError(
            f"{path}: expected a JSON object with LocalPath, the folder for TensorBoard: {error!r}"
        ) from None
    if not isinstance(folder, str) or not folder:
        raise SMDebugValueError(f"{path}: LocalPath must be a path, found {folder!r}")
    return folder
