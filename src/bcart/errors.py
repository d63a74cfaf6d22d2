"""What can go wrong, each with a message that says what, how much, and what to do next."""


class BcartError(Exception):
    """Root of all errors raised by bcart."""


class InvalidDataError(BcartError, ValueError):
    """The data cannot be used as they are."""


class InvalidTypeError(InvalidDataError, TypeError):
    """The data are of a kind that cannot be turned into numbers."""


class InvalidModelError(BcartError, ValueError):
    """A parameter of the model, the family or the limits makes no sense."""


class MemoryBudgetError(BcartError, MemoryError):
    """Not even trees of depth 1 fit into the memory budget, or into the machine."""


class TimeBudgetError(BcartError, TimeoutError):
    """Not even trees of depth 1 could be listed within the time limit."""


class InternalError(BcartError, RuntimeError):
    """An invariant of bcart itself is broken; please report it."""


class DepthLimitedWarning(UserWarning):
    """The posterior is exact for trees up to some depth, because a budget ended the search there."""
