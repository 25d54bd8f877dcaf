"""Statistics that stay valid when one looks at the data while they come in.

With a known cap on the runs: `lan_demets` bounds and `repeated_interval`. Without one: e values, e-processes
and confidence sequences. Extending a trial after a stop by bounds is not allowed; extending an e-process is.
"""

from tiltyard_stats.sequential.cost_evalue import CostEvidence, cost_evalue
from tiltyard_stats.sequential.evalues import EProcess, discordant_evalue, t_eprocess, t_evalue
from tiltyard_stats.sequential.futility import conditional_power
from tiltyard_stats.sequential.rates import beta_binomial_cs
from tiltyard_stats.sequential.repeated import repeated_interval
from tiltyard_stats.sequential.scores import betting_cs
from tiltyard_stats.sequential.spending import Boundary, lan_demets

__all__ = [
    "Boundary",
    "CostEvidence",
    "EProcess",
    "beta_binomial_cs",
    "betting_cs",
    "conditional_power",
    "cost_evalue",
    "discordant_evalue",
    "lan_demets",
    "repeated_interval",
    "t_eprocess",
    "t_evalue",
]
