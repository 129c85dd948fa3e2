"""A result as one netCDF file."""

import importlib.util
from pathlib import Path

import xarray

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.results.conventions import CONVENTIONS, run_history
from arlequin.results.files import file_errors
from arlequin.results.members import chosen
from arlequin.results.reading import of_result
from arlequin.results.writing import replacing

GROUPED = ("h5netcdf", "netCDF4")  # libraries that write groups
_SHARED = ("time", "frame", "frame_time", "member")  # the same in all groups


@of_result
def export_netcdf(result: xarray.DataTree, path: str | Path, *, member: int | None = None) -> str:
    """Write the whole result into one netCDF file; gives the format, "netCDF-4" or "netCDF-3".

    With h5netcdf or netCDF4 installed the file has the groups of the result, and `xarray.open_datatree` reads it.
    Without, SciPy writes netCDF-3, which has no groups: a variable or dimension x of `part/rod` is `part.rod.x` there,
    and `xarray.open_dataset` reads it. An existing file is replaced. member: only this one of an ensemble, from 0; None
    writes all.
    """
    result = chosen(result, member)
    tree = xarray.DataTree.from_dict({node.path: _texts(node.to_dataset(inherit=False)) for node in result.subtree})
    earlier = str(result.attrs.get("history", ""))
    tree.attrs |= {"Conventions": CONVENTIONS, "history": run_history(earlier)}
    checks.path("path", path)
    with file_errors(str(path)):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if any(importlib.util.find_spec(library) for library in GROUPED):
            with replacing(path) as draft:
                tree.to_netcdf(draft)
            return "netCDF-4"
        try:
            with replacing(path) as draft:
                flattened(tree).to_netcdf(draft, engine="scipy", format="NETCDF3_64BIT")
        except UserError:
            raise
        except ValueError as error:  # a name or a whole number that netCDF-3 cannot have
            raise UserError(f"{path}: {error}; install h5netcdf, which writes netCDF-4", code=1) from error
    return "netCDF-3"


def flattened(tree: xarray.DataTree) -> xarray.Dataset:
    """All groups in one dataset: x of `part/rod` as `part.rod.x`, but for the instants that they share."""
    variables: dict[str, xarray.Variable] = {}
    attributes = dict(tree.attrs)
    for node in tree.subtree:
        prefix = node.path.strip("/").replace("/", ".")
        group = node.to_dataset(inherit=False)
        for name, variable in group.variables.items():
            dims = [_flat(prefix, str(dim)) for dim in variable.dims]
            variables[_flat(prefix, str(name))] = xarray.Variable(dims, variable.values, variable.attrs)
        if prefix:
            attributes |= {f"{prefix}.{name}": value for name, value in group.attrs.items()}
    return xarray.Dataset(variables, attrs=attributes)


def _flat(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix and name not in _SHARED else name


def _texts(group: xarray.Dataset) -> xarray.Dataset:
    """Labels as text that netCDF has; nothing of how the store on disk had packed the arrays."""
    group = group.drop_encoding()
    labels = {name: group[name].astype(object) for name in group.variables if group[name].dtype.kind == "T"}
    return group.assign_coords(labels) if labels else group
