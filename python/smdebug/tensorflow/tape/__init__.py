"""Loops with a tf.GradientTape: eager, in a tf.function, or compiled by XLA."""
