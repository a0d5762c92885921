"""Import path of the original library."""

from smdebug.file_reader import FileReader

__all__ = ["FileReader"]
