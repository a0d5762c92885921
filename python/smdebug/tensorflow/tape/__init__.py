"""Loops with a `GradientTape`, in eager code and in compiled functions."""
