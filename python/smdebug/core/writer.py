"""Import path of the original library."""

from smdebug.file_writer import FileWriter

__all__ = ["FileWriter"]
