"""The lists and sets inside configuration objects: they count their edits.

Users change a list in place (`collection.include_regex.append("relu")`). Each change adds one to
the `Edits` of the object that holds the list, so a hook learns of it by comparing one number. The
result of an operator, such as `collection.tensor_names | {"fc1"}`, counts nothing.
"""


def _counting(name, base, changes):
    """A subclass of `base`, a list or a set, whose methods named in `changes` count as edits."""

    def __init__(self, values, edits):
        base.__init__(self, values)
        self._edits = edits

    def __reduce__(self):
        return base, (list(self),)  # a copy on its own belongs to no configuration object

    def counted(method_name):
        original = getattr(base, method_name)

        def method(self, *args, **kwargs):
            if self._edits is not None:
                self._edits.add()
            return original(self, *args, **kwargs)

        method.__name__ = method_name
        return method

    members = {each: counted(each) for each in changes.split()}
    members |= {"__init__": __init__, "__reduce__": __reduce__, "_edits": None}
    return type(name, (base,), members)


EditedList = _counting(
    "EditedList",
    list,
    "append extend insert remove pop clear sort reverse __setitem__ __delitem__ __iadd__ __imul__",
)
EditedSet = _counting(
    "EditedSet",
    set,
    "add update remove discard pop clear difference_update intersection_update "
    "symmetric_difference_update __ior__ __iand__ __isub__ __ixor__",
)
