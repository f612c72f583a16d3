"""What earlier waves took, as a factor of estimates."""

from __future__ import annotations

import pytest

from tidings.waves.experience import BOUND, FADING, LONG, SHORT, Experience, Way

SPARK = Way(recompute=False, execution="spark")
OTHER = Way(recompute=True, execution="spark")


def test_estimates_come_to_what_waves_take() -> None:
    experience = Experience()
    for _ in range(12):
        experience.learn("v", SPARK, estimated=2.0 * experience.factor("v", SPARK), actual=6.0)
    assert experience.factor("v", SPARK) == pytest.approx(3.0, rel=0.01)
    assert experience.factor("w", SPARK) == 1.0
    assert experience.factor("v", OTHER) == 1.0


def test_small_waves_teach_nothing() -> None:
    experience = Experience()
    experience.learn("v", SPARK, estimated=SHORT / 100, actual=LONG / 2)
    assert experience.factor("v", SPARK) == 1.0


def test_there_is_a_bound() -> None:
    experience = Experience()
    for _ in range(9):
        experience.learn("v", SPARK, estimated=1.0, actual=1000.0)
        experience.learn("w", SPARK, estimated=1000.0, actual=1.0)
    assert experience.factor("v", SPARK) == BOUND
    assert experience.factor("w", SPARK) == 1 / BOUND


def test_what_was_not_tried_for_a_while_fades() -> None:
    experience = Experience()
    experience.learn("v", OTHER, estimated=1.0, actual=4.0)
    experience.learn("v", SPARK, estimated=1.0, actual=1.0)
    assert experience.factor("v", OTHER) == 2.0**FADING
