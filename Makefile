# Each target sets up what it needs, in .venv of the checkout; later runs find it there.
BIN := .venv/bin
# one BLAS thread in each process of tests
# byte code is kept, whatever the environment says: without it each process compiles the tests, which takes 10 s
export PYTHONDONTWRITEBYTECODE =
TEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
# without the compiler, so that coverage includes the lines of the kernels
INTERPRETED = NUMBA_DISABLE_JIT=1 $(TEST) -q -n 2 --dist worksteal
KERNELS = `grep -rl --include='*.py' 'mark\.kernels' tests`

# PETSC=1 sets up PETSc, too, for runs on several ranks
export PETSC

.PHONY: demo test slow lint bench docs paper setup setup-run
.DEFAULT_GOAL := test

setup:
	@bash .ci/setup

setup-run:
	@bash .ci/setup run

demo: setup-run
	$(BIN)/arlequin run multiscale_bar --compare
	$(BIN)/arlequin plot runs/multiscale_bar.zarr

test: setup
	@# kernels that both processes of the second pass need first are compiled beside the pass without compiler
	$(BIN)/python tests/compile_kernels.py & \
	$(INTERPRETED) -m "kernels and not slow" $(KERNELS); code=$$?; wait; exit $$code
	$(TEST) -n 2 --dist worksteal -m "not slow"

# what `make test` leaves out: hours
slow: setup
	$(INTERPRETED) -m "kernels and (not slow or unsampled)" $(KERNELS)
	$(TEST) -n 2 --dist worksteal -m "slow"

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# all of it, or ONLY="explicit memory"
bench: setup
	$(BIN)/python tests/bench $(ONLY)

# the site; ARLEQUIN_GALLERY=off builds it without running the cases
docs: setup
	$(BIN)/sphinx-build -q -a -E -W --keep-going -b html docs docs/build/html
	@echo "open docs/build/html/index.html"

# the paper as HTML, and as PDF where pandoc and TeX or typst are installed; figures that are missing are drawn first
paper: setup
	@$(BIN)/python paper/figures.py
	@$(BIN)/python paper/render.py
