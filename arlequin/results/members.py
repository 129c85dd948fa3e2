"""Members of the result of an ensemble (`simulate_ensemble`), whose variables have the dimension `member`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arlequin.models.checks import integer
from arlequin.models.errors import UserError

if TYPE_CHECKING:
    import xarray


def member_count(result: xarray.DataTree) -> int | None:
    """Number of members of the result of an ensemble; None for the result of one run, or of one member."""
    return result.sizes.get("member")


def one_member(result: xarray.DataTree, member: int | None, what: str) -> xarray.DataTree:
    """The result of one run: that of `member` of an ensemble, numbered from 0; a result of one run as it is.

    what: what is made of it ("a figure of shapes"), for the line of the UserError if `member` is missing or not one of
    the ensemble's.
    """
    count = member_count(result)
    if count is None:
        if member is not None:
            raise UserError.parameter("member", member, "the result is of one run, not of an ensemble: leave it out")
        return result
    if member is None:
        numbers = "0" if count == 1 else f"0 to {count - 1}"
        raise UserError(f"{what} shows one member of an ensemble: choose member= (command line: --member N), {numbers}")
    return result.isel(member=integer("member", member, 0, count - 1))


def chosen(result: xarray.DataTree, member: int | None) -> xarray.DataTree:
    """The result of `member`, or of all members of an ensemble if it is None."""
    return result if member is None else one_member(result, member, "")
