"""Callbacks for trainers that run the training loop themselves, and their common parts."""
