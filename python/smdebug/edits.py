"""Counts edits of configuration objects.

Users change a collection at any time, also inside the lists that it holds. Each change adds one
to `edits.count`, so a hook learns in one comparison per step that it has to look again.
"""


class _Edits:
    count = 0


edits = _Edits()


def _counting(base, changes):
    """A subclass of `base` whose methods named in `changes` count as edits."""

    def counted(name):
        original = getattr(base, name)

        def method(self, *args, **kwargs):
            edits.count += 1
            return original(self, *args, **kwargs)

        method.__name__ = name
        return method

    return type(f"Counting{base.__name__.title()}", (base,), {n: counted(n) for n in changes})


CountingList = _counting(
    list,
    "append extend insert remove pop clear sort reverse __setitem__ __delitem__ __iadd__".split(),
)
CountingSet = _counting(
    set,
    "add update remove discard pop clear difference_update intersection_update "
    "symmetric_difference_update __ior__ __iand__ __isub__ __ixor__".split(),
)
