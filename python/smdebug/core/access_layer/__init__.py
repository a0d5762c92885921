"""Import path of the original library."""
