"""Compiles the kernels that have signatures, once: two processes of tests would each do it, side by side."""

import importlib
import pkgutil

if __name__ == "__main__":
    for package in ("arlequin",):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if module.name.endswith("_kernels"):
                importlib.import_module(module.name)
