"""Callbacks for trainers that run the loop themselves, and what they share."""
