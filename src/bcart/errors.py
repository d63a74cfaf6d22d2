"""What can go wrong, each with a message that says what, how much, and what to do next."""


class BcartError(Exception):
    """Root of all errors raised by bcart.

    Examples
    --------
    >>> import bcart
    >>> try:
    ...     bcart.BayesianTreeClassifier(max_bins=1).fit([[0.0], [1.0]], [0, 1])
    ... except bcart.BcartError as error:
    ...     print(error)
    max_bins=1 must be a whole number from 2 to 255
    """


class InvalidDataError(BcartError, ValueError):
    """The data cannot be used as they are.

    Examples
    --------
    >>> import bcart
    >>> bcart.BayesianTreeClassifier().fit([[float("inf")], [1.0]], [0, 1])
    Traceback (most recent call last):
    bcart.errors.InvalidDataError: column 'x0' contains inf (row 0); clip infinite values, or make them missing (NaN)
    """


class InvalidTypeError(InvalidDataError, TypeError):
    """The data are of a kind that cannot be turned into numbers.

    Examples
    --------
    >>> import bcart, scipy.sparse
    >>> bcart.BayesianTreeClassifier().fit(scipy.sparse.eye(2).tocsr(), [0, 1])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    bcart.errors.InvalidTypeError: Sparse data was passed...
    """


class InvalidModelError(BcartError, ValueError):
    """A parameter of the model, the family or the limits makes no sense.

    Examples
    --------
    >>> import bcart
    >>> bcart.DepthDecayPrior(split_alpha=1.5)
    Traceback (most recent call last):
    bcart.errors.InvalidModelError: split_alpha=1.5 must be below 1: the root may have to stop
    """


class MemoryBudgetError(BcartError, MemoryError):
    """Not even trees of depth 1 fit into the memory budget; or the system has no more memory to give.

    Examples
    --------
    >>> import bcart
    >>> bcart.BayesianTreeClassifier(max_memory="1kB").fit([[i] for i in range(9)], [0, 1, 0] * 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    bcart.errors.MemoryBudgetError: listing the trees of depth 1 alone takes more than max_memory=1.0 kB; ...
    """


class TimeBudgetError(BcartError, TimeoutError):
    """Within the time limit the rows could not be read, or not even trees of depth 1 be listed.

    Examples
    --------
    >>> import bcart
    >>> bcart.BayesianTreeClassifier(time_limit=1e-9).fit([[i] for i in range(9)], [0, 1, 0] * 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    bcart.errors.TimeBudgetError: listing the trees of depth 1 alone takes longer than time_limit=1e-09 s; ...
    """


class FormatError(BcartError, ValueError):
    """A file is not what it should be: damaged, cut short, of a newer version, or not one of ours.

    Examples
    --------
    >>> issubclass(FormatError, BcartError)
    True
    """


class InternalError(BcartError, RuntimeError):
    """An invariant of bcart itself is broken; please report it.

    Examples
    --------
    >>> issubclass(InternalError, BcartError)
    True
    """


class DepthLimitedWarning(UserWarning):
    """The posterior is exact for trees up to some depth, because a budget ended the search there.

    Examples
    --------
    >>> import warnings, bcart, numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (100, 20))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = bcart.BayesianTreeClassifier(max_memory="10MB").fit(X, X[:, 0] ^ X[:, 1])
    >>> caught[0].category is DepthLimitedWarning, model.posterior_.max_depth
    (True, 5)
    """
