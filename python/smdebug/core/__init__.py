"""The import paths of the original library. Modules here only name what lives elsewhere."""
