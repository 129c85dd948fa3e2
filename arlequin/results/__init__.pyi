"""Public names of `arlequin.results`, each on a line; `__init__.py` imports them on first use."""

from arlequin.results.netcdf import export_netcdf as export_netcdf
from arlequin.results.paraview import export_vtu as export_vtu
from arlequin.results.reading import open as open
from arlequin.results.signals import contact_ratio as contact_ratio
from arlequin.results.signals import impact_peaks as impact_peaks
from arlequin.results.signals import power_spectrum as power_spectrum
from arlequin.results.stresses import stress as stress
from arlequin.results.wear import mean_power as mean_power
from arlequin.results.wear import worn_depth as worn_depth
from arlequin.results.wear import worn_volume as worn_volume

__all__: list[str]

def __dir__() -> list[str]: ...
