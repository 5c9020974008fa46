# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `identification` about how parameters are estimated from a log."""

from __future__ import annotations

from typing import get_args

from rclpy.node import Node

from dyn_nodes.common.parameters import declare
from dyn_nodes.identification.computation_requests import EstimationSettings, Friction, LeastSquares


def declared_estimation(node: Node) -> EstimationSettings:
    """Declare the parameters and answer their values; DynError where one will not do."""
    usual = EstimationSettings()
    return EstimationSettings(
        train=declare(
            node,
            "train",
            usual.train,
            "Part of the time, from the beginning, that is fitted; the rest is held out.",
            within=(0.1, 0.95),
        ),
        cutoff=declare(
            node,
            "cutoff",
            usual.cutoff,
            "Cutoff of the filter of positions, Hz; 0: chosen by the data.",
            within=(0.0, 10000.0),
        ),
        estimator=declare(
            node,
            "estimator",
            usual.estimator,
            "Estimator: least squares that are ordinary ('ols'), weighted by joint ('wls'), iteratively "
            "reweighted, so that outliers count less ('irls'), or total, for noisy positions ('tls').",
            choices=get_args(LeastSquares),
        ),
        friction=declare(
            node,
            "friction",
            usual.friction,
            "Friction of joints: 'auto' chooses a model by cross-validation, 'unloaded' one that does not "
            "depend on the load; 'standard' is viscous, Coulomb and offset alone.",
            choices=get_args(Friction),
        ),
        prior_weight=declare(
            node,
            "prior_weight",
            usual.prior_weight,
            "How much the description counts where the log says little.",
            within=(1e-12, 1e6),
        ),
    )
