"""Insets: they hold the curves of the panel over their window, and hide none of them."""

import numpy as np
import pytest

from arlequin.plots import style
from arlequin.plots.inset import HEIGHT, WIDTH, magnified


def panel(*curves):
    with style.panels(1, 3.0) as (_, (axes,)):
        for x, y in curves:
            axes.plot(x, y)
    return axes


X = np.linspace(0.0, 1.0, 400)
PLATEAU = np.where((X > 0.1) & (X < 0.8), 1.0, 0.0)


def test_an_inset_holds_the_curves_over_its_window_and_hides_none():
    axes = panel((X, PLATEAU), (X, PLATEAU + 1e-3 * np.sin(50 * X)))
    inset = magnified(axes, (0.3, 0.4))
    assert inset.get_xlim() == (0.3, 0.4) and len(inset.lines) == 2
    low, high = inset.get_ylim()
    assert 0.997 < low < 0.9992 and 1.0008 < high < 1.003
    box = inset.get_axes_locator()(inset, None).transformed(axes.figure.transFigure)
    x, y, width, height = box.transformed(axes.transAxes.inverted()).bounds
    assert (width, height) == pytest.approx((WIDTH, HEIGHT))
    for line in axes.lines:
        places = axes.transAxes.inverted().transform(axes.transData.transform(np.column_stack(line.get_data())))
        inside = (places > [x, y]) & (places < [x + width, y + height])
        assert not inside.all(axis=1).any()
    assert magnified(axes, (0.3, 0.4), (0.5, 1.5)).get_ylim() == (0.5, 1.5)


def test_no_inset_of_one_curve_of_nothing_or_without_room():
    assert magnified(panel((X, PLATEAU)), (0.3, 0.4)) is None
    assert magnified(panel((X, PLATEAU), (X, PLATEAU)), (2.0, 3.0)) is None
    full = panel((X, np.sin(300 * X)), (X, np.sin(300 * X)))
    assert magnified(full, (0.3, 0.4)) is None
