# Each target sets up what it needs, in .venv of the checkout; later runs find it there.
BIN := .venv/bin
# two test processes with one BLAS thread each; the unjitted pass finds no test until one is marked `kernels`
TEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: demo test lint bench setup
.DEFAULT_GOAL := test

setup:
	@bash .ci/setup

demo: setup
	$(BIN)/arlequin run multiscale_bar
	$(BIN)/arlequin plot runs/multiscale_bar.zarr

test: setup
	NUMBA_DISABLE_JIT=1 $(TEST) -q -m "kernels and not slow" tests || test $$? -eq 5
	$(TEST) -n 2 -m "not slow"

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python tests/bench.py
