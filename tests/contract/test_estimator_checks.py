"""The estimators keep scikit-learn's conventions: its own checks pass."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bcart import BayesianTreeClassifier, BayesianTreeRegressor

ESTIMATORS = [
    BayesianTreeClassifier(),
    BayesianTreeClassifier(predictor="map"),
    BayesianTreeClassifier(prior="depth-decay"),
    BayesianTreeClassifier(binning="quantile", max_depth=3),
    BayesianTreeRegressor(max_memory="20MB"),
    BayesianTreeRegressor(predictor="map", max_memory="20MB"),
    BayesianTreeRegressor(prior="depth-decay", max_depth=3),
    BayesianTreeRegressor(leaf="poisson", max_memory="20MB"),
]
# No tag can say that targets have to be counts; these checks make them up, some negative, all with fractions.
WITHOUT_COUNTS = (
    "check_n_features_in_after_fitting",
    "check_regressors_train",
    "check_regressor_data_not_an_array",
    "check_fit_idempotent",
    "check_fit_check_is_fitted",
    "check_n_features_in",
)


def expected_failures(estimator):
    if getattr(estimator, "leaf", None) != "poisson":
        return {}
    return dict.fromkeys(WITHOUT_COUNTS, "its targets are no counts")


# Some checks fit 200 rows of ten real features, whose trees are too many: a budget cuts them off, with a warning.
@pytest.mark.filterwarnings("ignore::bcart.DepthLimitedWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
