"""Point and surface junctions: patch tests, closed forms and messages."""

import numpy as np
import pytest
from scipy.sparse import block_array, block_diag, hstack
from scipy.sparse.linalg import splu

from arlequin.junctions.surface import Mortar, Tie
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.mesh import box, interval, rectangle

STEEL = LinearElastic(young=1.0, poisson=0.3, density=1.0)
PLANE = [("quad", "tri"), ("tri", "quad")]
SPACE = [("hex", "hex"), ("tet", "tet"), ("hex", "tet"), ("tet", "hex")]


def surfaces(kinds, order=1, fine=(14, 8), **options):
    """The touching ends of a coarse and a fine part, x < 0.5 and x > 0.5."""
    if kinds[0] in ("hex", "tet"):
        coarse = box((0, 0.5), (0, 0.3), (0, 0.2), cells=(3, 2, 2), kind=kinds[0])
        second = box((0.5, 1), (0, 0.3), (0, 0.2), cells=(4, 4, 3), kind=kinds[1])
    else:
        options.setdefault("plane", "stress")
        coarse = rectangle((0, 0.5), (0, 0.3), cells=(5, 3), kind=kinds[0])
        second = rectangle((0.5, 1), (0, 0.3), cells=fine, kind=kinds[1])
    parts = (
        Solid("coarse", coarse, STEEL, order=order, **options),
        Solid("fine", second, STEEL, order=order, **options),
    )
    return parts[0].boundary("right"), parts[1].boundary("left")


def patch(junction):
    """Largest relative error of a uniaxial stress."""
    parts = junction.coarse, junction.fine
    n = parts[0].components
    x = np.concatenate([part.positions for part in parts])
    exact = (x * np.array([1.0, -0.3, -0.3])[:n]).ravel()
    K = block_diag([part.assemble().stiffness for part in parts], format="csr")
    operator = junction.operator()
    C = hstack([operator.coarse, operator.fine], format="csr")
    fixed = np.repeat((x[:, 0] < 1e-12) | (x[:, 0] > 1 - 1e-12), n)
    free, C = ~fixed, C / abs(C).max()
    saddle = block_array([[K[free][:, free], C[:, free].T], [C[:, free], None]], format="csc")
    known = np.where(fixed, exact, 0.0)
    right = -np.concatenate(((K @ known)[free], C @ known))
    factor = splu(saddle)
    found = factor.solve(right)
    found += factor.solve(right - saddle @ found)
    return np.abs(found[: free.sum()] - exact[free]).max() / np.abs(exact).max()


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kinds", PLANE + SPACE)
@pytest.mark.parametrize("order", [1, 2])
def test_mortar_passes_the_patch_test(kinds, order):
    assert patch(Mortar(*surfaces(kinds, order))) < 1e-12


@pytest.mark.parametrize("kinds", PLANE)
def test_mortar_with_fine_multipliers(kinds):
    assert patch(Mortar(*surfaces(kinds), mediator="fine")) < 1e-12


@pytest.mark.parametrize("kinds", PLANE)
@pytest.mark.parametrize("order", [1, 2])
def test_tie_passes_the_patch_test_where_nodes_coincide(kinds, order):
    assert patch(Tie(*surfaces(kinds, order, fine=(7, 3)))) < 1e-12
    # and not where they do not: the reason for mortar
    assert 1e-6 < patch(Tie(*surfaces(kinds, order))) < 1e-2


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kinds", [*PLANE, *SPACE])
@pytest.mark.parametrize("junction", [Tie, Mortar])
@pytest.mark.parametrize("order", [1, 2])
def test_linear_fields_agree(kinds, junction, order):
    glue = junction(*surfaces(kinds, order))
    operator, n = glue.operator(), glue.coarse.components
    matrix = np.array([[1.0, 2.0, 0.3], [-3.0, 0.5, 0.1], [0.7, 0.2, -1.0]])[:n, :n]
    values = [(0.01 + part.positions @ matrix.T).ravel() for part in (glue.coarse, glue.fine)]
    left = operator.coarse @ values[0]
    np.testing.assert_allclose(left + operator.fine @ values[1], 0, atol=1e-12 * np.abs(left).max())
    assert glue.weighting() == {}
    assert operator.gram.shape[0] == operator.positions.shape[0] * n
    np.testing.assert_allclose(operator.positions[:, 0], 0.5, atol=1e-12)


def test_mortar_measures_the_surface():
    operator = Mortar(*surfaces(("quad", "tri"), thickness=0.7)).operator()
    assert operator.gram.sum() == pytest.approx(2 * 0.3 * 0.7, rel=1e-12)
    ring = Mortar(*surfaces(("quad", "tri"), plane="axisymmetric")).operator()
    assert ring.gram.sum() == pytest.approx(2 * 2 * np.pi * 0.5 * 0.3, rel=1e-12)
    ones = [np.ones(part.shape[1]) for part in (operator.coarse, operator.fine)]
    rates = operator.coarse @ (3 * ones[0]) + operator.fine @ ones[1]
    mismatch = np.sqrt(rates @ np.linalg.solve(operator.gram.toarray(), rates))
    assert mismatch == pytest.approx(2 * np.sqrt(2 * 0.3 * 0.7), rel=1e-12)


def test_mortar_glues_what_two_surfaces_share():
    coarse, _ = surfaces(("hex", "hex"))
    fine = Solid("fine", box((0.5, 1), (0.1, 0.45), (0, 0.2), cells=(2, 5, 3), kind="tet"), STEEL).boundary("left")
    operator = Mortar(coarse, fine).operator()
    assert operator.gram.sum() == pytest.approx(3 * 0.2 * 0.2, rel=1e-12)


def test_bars_are_tied_at_a_point():
    bars = Bar("a", interval(0, 1, 3), STEEL), Bar("b", interval(1, 2, 7), STEEL, order=1)
    operator = Tie(bars[0].boundary("right"), bars[1].boundary("left")).operator()
    np.testing.assert_allclose(operator.coarse.toarray(), [[0, 0, 0, 1.0]])
    np.testing.assert_allclose(operator.fine.toarray(), [[-1.0, 0, 0, 0, 0, 0, 0, 0]])


def raises(message, junction, *given, **options):
    with pytest.raises(UserError, match=message) as caught:
        junction(*given, **options).operator()
    assert "\n" not in str(caught.value) and caught.value.code == 2


def test_messages():
    coarse, fine = surfaces(("quad", "quad"))
    raises("coarse_surface = .*must be a surface", Tie, coarse.part, fine)
    raises("'right' of 'fine' is 0.5 m off", Mortar, coarse, fine.part.boundary("right"))
    raises("'right' of 'fine' does not lie on 'right' of 'coarse'", Tie, coarse, fine.part.boundary("right"))
    raises("two parts named 'coarse'", Tie, coarse, coarse)
    raises("mediator = 'own'", Mortar, coarse, fine, mediator="own")
    away = Solid("away", rectangle((0.5, 1), (2, 3), cells=(2, 2)), STEEL, plane="stress").boundary("left")
    raises("does not lie on", Mortar, coarse, away)
    raises("both parts must agree", Mortar, coarse, surfaces(("quad", "quad"), plane="strain")[1])
    bars = [Bar(name, interval(*ends, 3), STEEL) for name, ends in (("a", (0, 1)), ("b", (1, 2)))]
    raises("use Tie", Mortar, bars[0].boundary("right"), bars[1].boundary("left"))
