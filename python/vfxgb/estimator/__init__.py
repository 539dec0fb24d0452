"""What users meet: estimators with scikit-learn's conventions.

`VFXGBClassifier` and `VFXGBRegressor` (vertical.py) train where parties hold columns, `FedXGBClassifier` and
`FedXGBRegressor` (users.py) where users hold rows. base.py has what all of them share, classifier_regressor.py what the
kind of label decides; data.py, files.py and user_data.py read what `fit` and `predict` are given.
"""

from vfxgb.estimator.vertical import VFXGBClassifier, VFXGBRegressor

__all__ = ["VFXGBClassifier", "VFXGBRegressor"]
