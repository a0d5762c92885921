"""What the collections of a run list."""


def check_collections_list_what_was_saved(trial):
    """Fails if a collection lists a tensor that was left out."""
    saved = set(trial.tensor_names())
    listed = {name: set(each.tensor_names) for name, each in trial.collections().items()}
    assert set().union(*listed.values()) <= saved, (listed, saved)
