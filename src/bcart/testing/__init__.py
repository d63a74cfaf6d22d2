"""The slow, obviously right answers to check bcart against; `bcart.testing.strategies` needs hypothesis."""

from bcart.testing.enumeration import EnumeratedPosterior, enumerate_posterior

__all__ = ["EnumeratedPosterior", "enumerate_posterior"]
