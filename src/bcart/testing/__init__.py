"""The slow, obviously right answers to check bcart against; `bcart.testing.strategies` needs hypothesis."""

from bcart.testing.answers import EnumeratedPosterior, Uncertainty
from bcart.testing.enumeration import enumerate_posterior

__all__ = ["EnumeratedPosterior", "Uncertainty", "enumerate_posterior"]
