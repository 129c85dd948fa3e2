"""What the start from a former result changes: the attribute `handover` of the new result."""

import json

import numpy as np

from arlequin.levels.consistency import inertia_rows
from arlequin.step.state import State
from arlequin.system.assembly import Assembly


def handover_attribute(assembly: Assembly, state: State) -> str:
    """JSON text of the state before and after the handover.

    time: of the frame, s; before, after: energies, J (`kinetic`, `strain`, `asperity`: layers and springs of friction)
    of the result at the frame, all parts, and of the start of the run; yielded: energy, J, that plastic flow dissipated
    so that the stresses of the start are admissible; momentum_before, momentum_after: linear momenta of the parts that
    the result has, kg m/s; remeshed: for the parts on another mesh the kinetic energies of their nodal velocities and
    the relative error of their linear and angular momenta.
    """
    system = assembly.system
    frame = system.from_result
    after = {"kinetic": float(state.kinetic), "strain": float(state.strain), "asperity": float(state.asperity)}
    axes = system.acceleration(0.0).size
    taken = np.concatenate([np.full(at.stop - at.start, name in frame.parts) for name, at in _places(assembly)])
    momentum = (inertia_rows(assembly, np.zeros(axes))[:axes] * taken) @ state.v
    yielded = assembly.respond(state.u, assembly.start_memory(), 0.0).dissipated if assembly.path_dependent else 0.0
    costs = {part.name: frame.handover(part).cost() for part in system.parts if part.name in frame.parts}
    return json.dumps(
        {
            "time": frame.time,
            "before": frame.energy,
            "after": {kind: value for kind, value in after.items() if kind in frame.energy or value},
            "yielded": float(yielded),
            "momentum_before": sum(
                (frame.parts[name]["momentum"] for name in _distinct(assembly)), np.zeros(axes)
            ).tolist(),
            "momentum_after": momentum.tolist(),
            "remeshed": {name: cost for name, cost in costs.items() if cost},
        }
    )


def _places(assembly: Assembly) -> list[tuple[str, slice]]:
    return [(part.name, at) for part, at in zip(assembly.system.parts, assembly.places, strict=True)]


def _distinct(assembly: Assembly) -> list[str]:
    """Parts of the system that the result has under their own names."""
    frame = assembly.system.from_result
    return [part.name for part in assembly.system.parts if frame.names.get(part.name) == part.name]
