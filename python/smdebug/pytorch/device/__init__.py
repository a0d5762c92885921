"""Tensors on an accelerator: copied to the host, or reduced to statistics on the device."""
