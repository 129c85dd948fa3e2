"""Scattering of plane waves by the junctions of a system, in the frequency domain.

A system whose meshes are regular at both ends is continued by half-infinite lattices of the same cells. With
u ∝ e^{iωt}

    (K + iΩ D − Ω² M) u + Cᵀ φ = 0,   C u = 0,   Ω = (2/Δt) tan(ω Δt/2) of the trapezoidal rule, ω without a step,

holds at all nodes but those of the outermost columns. There only outgoing waves of the lattice are admitted besides
the incident one: u₀ = P u₁, P = Φ diag(μ) Φ⁻¹ with the modes u_j = φ μ^j of A₁₀ + μ A₁₁ + μ² A₁₂, A = K − Ω² M, that
decay or carry energy outwards. In two dimensions fields are quasi-periodic,
u(y + L) = e^{−i k_y L} u(y). The flux of energy through a column, ½ Ω Im(u_jᴴ A₁₂ u_{j+1}), gives the reflected and
transmitted fractions.

Source of the method (wave finite elements): Mace, Duhamel, Brennan & Hinke, J. Acoust. Soc. Am. 117, 2005.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import refuse_ranks
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.densities import check_densities
from arlequin.system.system import System

_COLUMN_TOLERANCE = 1e-7  # distance of nodes of one column, as a fraction of the extent
_UNIT_TOLERANCE = 1e-7  # |μ| − 1 below which a mode propagates
_MAX_PHASE = 0.999 * np.pi  # largest k h of an incident wave


@dataclass(frozen=True)
class Scattered:
    """Fractions of the incident energy flux, and the transmitted amplitude.

    frequency: ω, rad/s; reflected, transmitted: energy; absorbed: the remainder, lost in the damping; amplitude: ratio
    of the displacements of the transmitted wave of the same kind and of the incident wave; phase: its lag, rad, behind
    waves that run in the first lattice up to the middle of the overlap and in the second from there (nan where the
    second lattice has no such wave).
    """

    frequency: float
    reflected: float
    transmitted: float
    absorbed: float
    amplitude: float
    phase: float


@dataclass(frozen=True, eq=False)
class _Lattice:
    """A regular end of a mesh: reduced dofs of the outermost column and of the next two; position of the first, m;
    sign: +1 if x grows inwards; spacing, m; y (n,) of the reduced nodes of a column, m."""

    columns: tuple[Indices, Indices, Indices]
    first: float
    inward: float
    spacing: float
    y: Array


@checked_call
@dataclass(frozen=True, eq=False)
class PlaneWaves:
    """Plane waves through a system that extends along x, with regular columns of cells at both ends.

    The leftmost and the rightmost part are continued; systems have no imposed motions and no contact.
    In two dimensions bottom and top are quasi-periodic. step: Δt of the trapezoidal rule, s, which
    parts with mass="dispersion" correct; None: exact in time.

    >>> import arlequin as aq
    >>> unit = aq.LinearElastic(young=1.0, density=1.0)  # Pa, kg/m³
    >>> fine = aq.Bar("fine", aq.mesh.interval(0.0, 9.0, cells=90), unit)
    >>> coarse = aq.Bar("coarse", aq.mesh.interval(5.0, 12.0, cells=7), unit)
    >>> waves = aq.PlaneWaves(aq.System([coarse, fine], [aq.Junction(coarse, fine)]))
    >>> result = waves.scatter(wavelength=10.0)  # m
    >>> result.reflected < 1e-5, round(result.transmitted, 4)
    (True, 1.0)
    """

    system: System
    step: float | None = None

    def __post_init__(self) -> None:
        checks.instance("system", self.system, System, "must be a System")
        if self.step is not None:
            checks.positive("step", self.step)
        check_densities(self.system.parts, "for waves")
        # the trapezoidal rule: e = 1/6 in Ω² = ω²(1 + e ω²Δt²)
        errors = {} if self.step is None else dict.fromkeys(self.system.names, self.step**2 / 6.0)
        object.__setattr__(self, "_assembly", assemble(self.system, errors))
        assembly = self.assembly
        if isinstance(assembly.mass, DistributedMatrix):
            refuse_ranks("PlaneWaves")
        if assembly.contact_count or assembly.imposed_dofs.size or not assembly.linear:
            raise UserError("PlaneWaves: the system must be linear, without contact and imposed motions")
        if self.axes > 2:
            raise UserError("PlaneWaves: takes systems of one or two dimensions")

    @property
    def assembly(self) -> Assembly:
        """The matrices of the system."""
        return self._assembly  # type: ignore[attr-defined]

    @property
    def axes(self) -> int:
        """Dimension of the parts."""
        return int(self.system.parts[0].positions.shape[1])

    def scatter(
        self,
        wavelength: float,
        wave: Literal["P", "S"] = "P",
        angle: float = 0.0,
        start: Literal["left", "right"] = "left",
    ) -> Scattered:
        """Scattering of a wave of this length (m), incident from `start` at an angle (degrees) to the x axis."""
        checks.positive("wavelength", wavelength)
        checks.one_of("wave", wave, ("P", "S"))
        checks.one_of("start", start, ("left", "right"))
        checks.within("angle", angle, 0.0, 90.0, open_high=True)
        if self.axes == 1 and (wave == "S" or angle):
            raise UserError.parameter("wave", wave, "in one dimension there are P waves along x alone")
        k, slope = 2.0 * np.pi / wavelength, np.deg2rad(angle)
        across = k * np.sin(slope)
        reduce, ends = self._reduced(across)
        incident_end, far_end = ends if start == "left" else ends[::-1]
        if k * np.cos(slope) * incident_end.spacing > _MAX_PHASE:
            raise UserError.parameter(
                "wavelength", wavelength, f"must be above {2 * incident_end.spacing:g} m, two cells"
            )
        mass, stiffness, damping, constraints = self._matrices(reduce, across)
        along = k * np.cos(slope) * incident_end.inward
        shapes, square = _lattice_waves(
            _symbols(incident_end, across, mass, stiffness, self._components), incident_end, along
        )
        which, shape = _closest_mode(_polarisation(wave, slope, incident_end.inward, shapes.shape[0]), shapes)
        frequency = float(np.sqrt(square[which]))
        dynamic = sp.csr_array(stiffness - frequency**2 * mass)
        incident = _column_wave(incident_end, across, shape)
        out_incident, out_far = (_outgoing(dynamic, end) for end in (incident_end, far_end))
        step_in = np.exp(-1j * along * incident_end.inward * incident_end.spacing)
        # the incident wave is 1 at the outermost column
        source = incident - out_incident @ (incident * step_in)
        u = self._solve(
            dynamic, damping, frequency, constraints, (incident_end, far_end), (out_incident, out_far), source
        )
        first, second = u[incident_end.columns[0]], u[incident_end.columns[1]]
        reflected_wave = first - incident, second - incident * step_in
        flux_in = _flux(dynamic, incident_end, incident, incident * step_in)
        reflected = -_flux(dynamic, incident_end, *reflected_wave) / flux_in
        transmitted = -_flux(dynamic, far_end, u[far_end.columns[0]], u[far_end.columns[1]]) / flux_in
        amplitude, phase = self._transmitted(
            u, incident_end, far_end, (along, across), frequency, (mass, stiffness), wave, slope
        )
        omega = frequency
        if self.step is not None:
            omega = 2.0 / self.step * float(np.arctan(0.5 * self.step * frequency))
        return Scattered(omega, reflected, transmitted, 1.0 - reflected - transmitted, amplitude, phase)

    @property
    def _components(self) -> int:
        return int(self.system.parts[0].components)

    def _reduced(self, across: float) -> tuple[sp.csr_array, tuple[_Lattice, _Lattice]]:
        """u = T q with the nodes of the top replaced by those of the bottom, and the two ends."""
        assembly, size = self.assembly, self._components
        count = assembly.dof_count // size
        points = np.concatenate([part.positions for part in self.system.parts])
        reference, phase = np.arange(count), np.ones(count, dtype=complex)
        for part, start in zip(self.system.parts, assembly.start[:-1] // size, strict=True):
            positions = part.positions
            if self.axes == 1:
                continue
            low, high = positions[:, 1].min(), positions[:, 1].max()
            tolerance = _COLUMN_TOLERANCE * (high - low)
            bottom, top = (start + np.flatnonzero(np.abs(positions[:, 1] - y) <= tolerance) for y in (low, high))
            bottom, top = (nodes[np.argsort(points[nodes, 0])] for nodes in (bottom, top))
            if bottom.size != top.size or np.abs(points[bottom, 0] - points[top, 0]).max() > tolerance:
                raise UserError(f"PlaneWaves: '{part.name}' must have the same nodes at its bottom and its top")
            reference[top], phase[top] = bottom, np.exp(-1j * across * (high - low))
        free = assembly.free.reshape(-1, size).all(axis=1)
        independent = np.flatnonzero((reference == np.arange(count)) & free)
        reduced_number = np.full(count, -1)
        reduced_number[independent] = np.arange(independent.size)
        nodes = np.flatnonzero(free & (reduced_number[reference] >= 0))
        nodal = sp.csr_array((phase[nodes], (nodes, reduced_number[reference[nodes]])), shape=(count, independent.size))
        reduce = sp.csr_array(sp.kron(nodal, sp.eye_array(size), format="csr"))
        left, right = (self._end(points[independent], sign) for sign in (1.0, -1.0))
        return reduce, (left, right)

    def _end(self, points: Array, inward: float) -> _Lattice:
        """The lattice at the left (inward 1) or the right end (−1) among reduced nodes at points (n, axis)."""
        x = inward * points[:, 0]
        order = np.argsort(x)
        # a larger distance along x separates two columns
        new = np.diff(x[order]) > _COLUMN_TOLERANCE * np.ptp(x)
        of_column = np.concatenate([[0], np.cumsum(new)])
        columns, xs = [], []
        for column_number in range(3):
            nodes = order[of_column == column_number]
            if self.axes > 1:
                nodes = nodes[np.argsort(points[nodes, 1])]
            columns.append(nodes)
            xs.append(float(x[nodes].mean()) if nodes.size else np.nan)
        size = self._components
        y = points[columns[0], 1] if self.axes > 1 else np.zeros(1)
        even = bool(np.ptp(np.diff(xs)) <= 1e-4 * abs(xs[1] - xs[0]))
        if not even or any(nodes.size != columns[0].size for nodes in columns):
            raise UserError("PlaneWaves: the ends must be regular columns of cells, at least two beyond the overlap")
        dofs = tuple((nodes[:, None] * size + np.arange(size)).ravel() for nodes in columns)
        spacing = float(np.mean(np.diff(xs)))
        return _Lattice(dofs, inward * xs[0], inward, spacing, y)

    def _matrices(self, reduce: sp.csr_array, across: float) -> tuple[Any, Any, Any, Any]:
        assembly = self.assembly
        adjoint = sp.csr_array(reduce.conj().T)
        mass, stiffness = (sp.csr_array(adjoint @ matrix @ reduce) for matrix in (assembly.mass, assembly.stiffness))
        damping = None if assembly.viscous is None else sp.csr_array(adjoint @ assembly.viscous @ reduce)
        rows = sp.csr_array(self._periodic_rows(across) @ assembly.constraints @ reduce)
        norms = np.sqrt(np.asarray(abs(rows).power(2).sum(axis=1)).ravel())
        rows = sp.csr_array(rows[np.flatnonzero(norms > 1e-12 * norms.max(initial=0.0))])
        return mass, stiffness, damping, sp.csr_array(rows / norms.max()) if norms.size else rows

    def _periodic_rows(self, across: float) -> sp.csr_array:
        """Constraint rows in which the rows of multipliers at the top are added to those at the bottom."""
        assembly, blocks = self.assembly, []
        for operator in assembly.operators:
            size = operator.components
            points = operator.positions
            count = len(points)
            target, phase = np.arange(count), np.ones(count, dtype=complex)
            if self.axes > 1 and count:
                low, high = points[:, 1].min(), points[:, 1].max()
                tolerance = 1e-6 * (high - low)
                bottom, top = (np.flatnonzero(np.abs(points[:, 1] - y) <= tolerance) for y in (low, high))
                for node in top:
                    opposite = bottom[np.abs(points[bottom, 0] - points[node, 0]) <= tolerance]
                    if opposite.size == 1:
                        target[node], phase[node] = opposite[0], np.exp(1j * across * (high - low))
            scalar = sp.csr_array((phase, (target, np.arange(count))), shape=(count, count))
            blocks.append(sp.kron(scalar, sp.eye_array(size), format="csr"))
        rest = assembly.constraints.shape[0] - sum(block.shape[0] for block in blocks)
        if rest:
            blocks.append(sp.eye_array(rest, format="csr"))
        return sp.csr_array(sp.block_diag(blocks, format="csr")) if blocks else sp.csr_array((0, 0))

    def _solve(
        self,
        dynamic: sp.csr_array,
        damping: sp.csr_array | None,
        frequency: float,
        constraints: sp.csr_array,
        ends: tuple[_Lattice, _Lattice],
        outgoing: tuple[Array, Array],
        source: Array,
    ) -> Array:
        size, rows = dynamic.shape[0], constraints.shape[0]
        matrix = dynamic if damping is None else dynamic + 1j * frequency * damping
        scale = float(abs(dynamic).max())
        interior = np.ones(size)
        for end in ends:
            interior[end.columns[0]] = 0.0
        matrix = sp.diags_array(interior) @ matrix
        pull = sp.diags_array(interior) @ constraints.conj().T
        for end, transfer in zip(ends, outgoing, strict=True):
            first, second = end.columns[0], end.columns[1]
            n = first.size
            entries = np.concatenate([np.full(n, scale, dtype=complex), -scale * transfer.ravel()])
            row = np.concatenate([first, np.repeat(first, n)])
            column = np.concatenate([first, np.tile(second, n)])
            matrix = matrix + sp.csr_array((entries, (row, column)), shape=(size, size))
        system = sp.block_array([[matrix, scale * pull], [scale * constraints, None]]) if rows else matrix
        load = np.zeros(size + rows, dtype=complex)
        load[ends[0].columns[0]] = scale * source
        return np.asarray(splu(sp.csc_array(system)).solve(load)[:size])

    def _transmitted(
        self,
        u: Array,
        incident_end: _Lattice,
        far_end: _Lattice,
        wave_numbers: tuple[float, float],
        frequency: float,
        matrices: tuple[Any, Any],
        wave: str,
        slope: float,
    ) -> tuple[float, float]:
        """Amplitude and phase lag of the wave of the same kind in the other lattice."""
        along, across = wave_numbers
        mass, stiffness = matrices
        symbols = _symbols(far_end, across, mass, stiffness, self._components)
        wave_in_lattice = _wave_number(symbols, far_end, frequency, abs(along), wave, slope)
        if wave_in_lattice is None:
            return 0.0, float("nan")
        wave_number, shape = wave_in_lattice
        direction = -far_end.inward
        field = _column_wave(far_end, across, shape)
        amplitude = np.vdot(field, u[far_end.columns[0]]) / np.vdot(field, field)
        middle = self._middle()
        travelled = along * (middle - incident_end.first) + direction * wave_number * (far_end.first - middle)
        return float(abs(amplitude)), float(np.angle(np.exp(-1j * travelled) / amplitude))

    def _middle(self) -> float:
        """Middle of the overlap of the parts, or of the system, m."""
        lows = [float(part.positions[:, 0].min()) for part in self.system.parts]
        highs = [float(part.positions[:, 0].max()) for part in self.system.parts]
        return 0.5 * (max(lows) + min(highs))


def _polarisation(wave: str, slope: float, inward: float, size: int) -> Array:
    direction = np.array([inward * np.cos(slope), np.sin(slope)])[:size]
    if wave == "P" or size == 1:
        return direction if size > 1 else np.ones(1)
    return np.array([-direction[1], direction[0]])


def _closest_mode(polarisation: Array, shapes: Array) -> tuple[int, Array]:
    """The wave nearest to a polarisation (d,) among the columns of shapes (d, mode), and its shape in phase with it."""
    projections = polarisation @ shapes
    mode = int(np.argmax(np.abs(projections)))
    return mode, shapes[:, mode] * (np.conj(projections[mode]) / np.abs(projections[mode]))


def _column_wave(end: _Lattice, across: float, shape: Array) -> Array:
    return np.asarray((np.exp(-1j * across * end.y)[:, None] * shape).ravel())


def _symbols(end: _Lattice, across: float, mass: Any, stiffness: Any, size: int) -> Array:
    """Parts (2, 3, d, d) of stiffness and mass that a plane wave along a column has in the columns −1, 0, 1."""
    wave = np.kron(np.exp(-1j * across * end.y)[:, None], np.eye(size))
    return np.array(
        [
            [wave.conj().T @ matrix[end.columns[1]][:, column].toarray() @ wave for column in end.columns]
            for matrix in (stiffness, mass)
        ]
    )


def _lattice_waves(symbols: Array, end: _Lattice, along: float) -> tuple[Array, Array]:
    """Polarisations (d, mode) and squared frequencies of the plane waves of a lattice with its `_symbols`."""
    phases = np.exp(-1j * along * end.inward * end.spacing) ** np.array([-1, 0, 1])
    small = np.einsum("mcij,c->mij", symbols, phases)
    # scaled, so that the round-off is the same in all units
    sizes = np.abs(symbols).max(axis=(1, 2, 3))
    stiffness, mass = 0.5 * (small + small.conj().swapaxes(1, 2)) / sizes[:, None, None]
    square, shapes = scipy.linalg.eigh(stiffness, mass)
    return np.asarray(shapes / np.linalg.norm(shapes, axis=0)), np.asarray(square * (sizes[0] / sizes[1]))


def _wave_number(
    symbols: Array, end: _Lattice, frequency: float, guess: float, wave: str, slope: float
) -> tuple[float, Array] | None:
    """k_x ≥ 0 and polarisation of the wave of a kind at a frequency in a lattice; None where there is none."""
    size = symbols.shape[2]
    direction = -end.inward

    def at(number: float) -> tuple[float, Array]:
        shapes, square = _lattice_waves(symbols, end, direction * number)
        mode, shape = _closest_mode(_polarisation(wave, slope, direction, size), shapes)
        return float(square[mode]) - frequency**2, shape

    edge = np.pi / end.spacing
    numbers = np.linspace(0.0, edge, 65)
    values = np.array([at(number)[0] for number in numbers])
    crossings = np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0))
    if not crossings.size:
        return None
    i = crossings[np.argmin(np.abs(numbers[crossings] - guess))]
    from scipy.optimize import brentq

    root = float(brentq(lambda number: at(number)[0], numbers[i], numbers[i + 1], xtol=1e-13 * edge))
    return root, at(root)[1]


def _blocks(dynamic: sp.csr_array, end: _Lattice) -> tuple[Array, Array, Array]:
    """Blocks of the rows of A of the second column: towards the outside, on the column, towards the inside."""
    rows = dynamic[end.columns[1]]
    outer, diagonal, inner = (rows[:, columns].toarray() for columns in end.columns)
    return outer, diagonal, inner


def _flux(dynamic: sp.csr_array, end: _Lattice, first: Array, second: Array) -> float:
    """Flux of energy inwards through the first two columns (up to ½ Ω)."""
    inner = dynamic[end.columns[0]][:, end.columns[1]].toarray()
    return float(np.imag(np.vdot(first, inner @ second)))


def _outgoing(dynamic: sp.csr_array, end: _Lattice) -> Array:
    """P (n, n) with u₀ = P u₁ for waves that leave, u₀ on the outermost column."""
    outer, diagonal, inner = _blocks(dynamic, end)
    scale = max(float(np.abs(block).max()) for block in (outer, diagonal, inner))
    outer, diagonal, inner = outer / scale, diagonal / scale, inner / scale
    n = diagonal.shape[0]
    # columns counted outwards: inner u_{j−1} + diagonal u_j + outer u_{j+1} = 0
    zero, identity = np.zeros((n, n)), np.eye(n)
    left = np.block([[zero, identity], [-inner, -diagonal]])
    right = np.block([[identity, zero], [zero, outer]])
    values, vectors = scipy.linalg.eig(left, right)
    shapes = vectors[:n]
    finite = np.isfinite(values)
    moduli = np.abs(np.where(finite, values, np.inf))
    outgoing = moduli < 1.0 - _UNIT_TOLERANCE
    for mode in np.flatnonzero(np.abs(moduli - 1.0) <= _UNIT_TOLERANCE):
        shape = shapes[:, mode]
        outgoing[mode] = np.imag(np.vdot(shape, outer @ (shape * values[mode]))) > 0.0
    if int(outgoing.sum()) != n:
        raise UserError(
            "PlaneWaves: at this frequency a wave of the lattice has zero group velocity: take another wavelength",
            code=1,
        )
    modes = shapes[:, outgoing]
    return np.asarray(np.linalg.solve(modes.T, (modes * values[outgoing]).T).T)
