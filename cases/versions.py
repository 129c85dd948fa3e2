"""The versions of what computes and draws here."""

import importlib.metadata

PACKAGES = ("arlequin", "numpy", "scipy", "numba", "scikit-fem", "scikit-sparse", "xarray", "zarr")


def version(package: str) -> str:
    """Of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def versions() -> list[tuple[str, str]]:
    """Of the packages that matter and the BLAS."""
    return [*((package, version(package)) for package in PACKAGES), ("BLAS", _blas())]


def _blas() -> str:
    try:
        from models.factor import blas_name

        return blas_name()
    except ImportError:
        return "unknown"
