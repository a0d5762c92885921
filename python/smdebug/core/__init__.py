"""Import paths of the original library. The modules re-export names that are defined elsewhere."""
