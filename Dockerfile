# An image with CHOLMOD: docker build -t arlequin .
# docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" arlequin run two_bars
# Not built by continuous integration.
FROM python:3.13-slim-trixie
RUN apt-get update \
    && apt-get install -y --no-install-recommends build-essential libsuitesparse-dev libopenblas-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY LICENSE README.md pyproject.toml hatch_build.py ./
COPY arlequin arlequin
COPY models models
COPY multilevel multilevel
COPY cases cases
RUN SUITESPARSE_INCLUDE_DIR=/usr/include/suitesparse pip install --no-cache-dir ".[cholmod]"
WORKDIR /work
ENTRYPOINT ["arlequin"]
