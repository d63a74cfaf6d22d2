"""scikit-learn estimators: they translate its conventions to a posterior, and nothing else."""

from bcart.estimators.classifier import BayesianTreeClassifier
from bcart.estimators.regressor import BayesianTreeRegressor

__all__ = ["BayesianTreeClassifier", "BayesianTreeRegressor"]
