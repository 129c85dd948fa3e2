"""Ctrl-C is put off where something is half done, and heard where something swallowed it."""

import os
import signal
import time

import pytest

from arlequin.run.interrupts import defer_interrupts, pending


def press():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)


def test_ctrl_c_that_something_swallowed_is_heard():
    usual = signal.getsignal(signal.SIGINT)
    with pending() as check:
        check()
        with pytest.raises(KeyboardInterrupt):
            press()
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is usual


def test_ctrl_c_that_was_put_off_is_heard():
    done = False
    with pending() as check:
        with pytest.raises(KeyboardInterrupt), defer_interrupts():
            press()
            done = True
        with pytest.raises(KeyboardInterrupt):
            check()
    assert done


def test_an_ignored_ctrl_c_stays_ignored():
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pending() as check:
            press()
            check()
    finally:
        signal.signal(signal.SIGINT, usual)
