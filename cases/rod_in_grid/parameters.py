"""Parameters of the rod, of the distributions of its inputs, and of the service life."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.fuel_rod.uncertain_supports import UncertainSupports
from arlequin.models.checks import integer, non_negative, non_negative_integer, positive, within
from arlequin.models.types import Array

MONTH = 365.25 / 12.0 * 86400.0  # s
INSTANTS = 41  # of the depths over the service life
INPUTS = {"gap": "m", "preload": "N", "misalignment": "m", "friction": "1", "wear": "m^3/J", "force": "N/m"}
# contact points of a grid: springs at +x and +y, dimples at −x below and above, then at −y
PLACES = ("spring x", "spring y", "dimple x below", "dimple x above", "dimple y below", "dimple y above")
SUPPORTS = tuple(f"{grid} grid, {place}" for grid in ("tight", "loose") for place in PLACES)


@dataclass(frozen=True)
class Parameters(UncertainSupports):
    """Default: 18 months, 93 samples; gap 10 to 50 µm, preload 5 to 20 N, friction 0.2 to 0.6, wear 0.7 to 1.5e-15."""

    wear: Annotated[float, Quantity("m^3/J", "median of Archard's coefficient, lognormal", positive)] = 1e-15
    wear_scatter: Annotated[float, Quantity("", "standard deviation of its logarithm", within, 1e-6, 3.0)] = 0.2
    force_scatter: Annotated[
        float, Quantity("", "standard deviation of the rms force, over its mean", within, 1e-6, 0.3)
    ] = 0.05
    months: Annotated[float, Quantity("months", "service life", positive)] = 18.0
    share: Annotated[float, Quantity("", "limit of the depth over the wall thickness", within, 1e-3, 1.0)] = 0.2
    duration: Annotated[float, Quantity("s", "duration of a run", positive)] = 0.6
    start: Annotated[float, Quantity("s", "start of the means", non_negative)] = 0.1
    step: Annotated[float, Quantity("s", "time step", positive)] = 1e-4
    runs: Annotated[int, Quantity("", "runs over a service life, one a window", integer, 10, 1000)] = 10
    samples: Annotated[int, Quantity("", "number of lives", integer, 2, 100_000)] = 93
    seed: Annotated[int, Quantity("", "random seed of all samples", non_negative_integer)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.start < self.duration:
            raise aq.UserError.parameter("start", self.start, f"must be before the end, {self.duration:g} s")
        if not 2.0 * self.step * self.highest <= 1.0:
            raise aq.UserError.parameter("step", self.step, f"must be at most {0.5 / self.highest:g} s, half a period")
        if not self.frequencies.size:
            shortest = self.start + 2.0 / self.highest
            raise aq.UserError.parameter("duration", self.duration, f"must be above {shortest:g} s for a spectrum")

    @property
    def distributions(self) -> dict[str, Any]:
        """Those of the inputs, and of the seed of the turbulence."""
        from scipy.stats import lognorm, norm

        return {
            **self.supports,
            "wear": lognorm(self.wear_scatter, scale=self.wear),
            "force": norm(self.force, self.force_scatter * self.force),
            "turbulence": range(10**6),
        }

    @property
    def service(self) -> float:
        """Service life, s."""
        return self.months * MONTH

    @property
    def limit(self) -> float:
        """Largest depth that is allowed, m."""
        return self.share * self.thickness

    @property
    def frequencies(self) -> Array:
        """Those of the spectra, Hz: of segments of half the record."""
        spacing = 2.0 / (self.duration - self.start)
        return spacing * np.arange(1.0, np.floor(self.highest / spacing * (1.0 + 1e-12)) + 1.0)

    def points(self) -> list[dict[str, Any]]:
        """The inputs of all samples, independent of their number."""
        from arlequin.uncertainty.inputs import Inputs

        inputs = Inputs.of(self.distributions)
        uniform = np.random.default_rng(self.seed).random((self.samples, len(inputs)))
        return inputs.points(np.maximum(uniform, np.finfo(float).tiny))
