"""HiPAC's delta relations, Changes and chain rule: Examples 1.1 to 3 and the lemmas, with their tables."""

from __future__ import annotations

import pytest

from tidings.algebra import (
    Changes,
    DeltaPair,
    DeltaRelation,
    DeltaRow,
    RelationInstance,
    SubstitutionList,
    UserOperator,
    additions,
    chain_rule,
    chain_rule_once,
    compose,
    delta_difference,
    delta_of,
    evaluate,
    first_principle,
    hipac_changes,
    hipac_incr_project,
    hipac_incr_select,
    posttilde,
    pretilde,
    relation,
    removals,
    require_composable,
    show,
    signal_graph,
    untilde,
)
from tidings.algebra.delta_relations.single import outer_join
from tidings.errors import InvalidDeltaRelation, InvalidExpression, NotComposable

ATTRIBUTES = ("Name", "Salary")
EMP = RelationInstance.of(ATTRIBUTES, ("0123", "Joe", 30), ("0456", "Lynn", 40), ("0321", "Ann", 28))
NEW_EMP = RelationInstance.of(ATTRIBUTES, ("0123", "Joe", 33), ("0789", "Ed", 25), ("0321", "Ann", 28))
DELTA = DeltaRelation(
    ATTRIBUTES,
    frozenset(
        {
            DeltaRow(("0123",), ("Joe", 30), ("0123",), ("Joe", 33)),
            DeltaRow(None, None, ("0789",), ("Ed", 25)),
            DeltaRow(("0456",), ("Lynn", 40), None, None),
        }
    ),
)

STATUS = relation("Link_Status", "Link", "Occurrence", "Severity")
TECHNOLOGY = relation("Link_Technology", "L", "Mode")
SIGNALLED = SubstitutionList(
    {
        "Link_Status": RelationInstance.of(STATUS.attributes, (1, "link1", "occ_a", 1), (2, "link2", "occ_b", 6)),
        "Link_Technology": RelationInstance.of(TECHNOLOGY.attributes, (3, "link1", "fibre"), (4, "link2", "microwave")),
    },
    {},
)


def test_example_1_1_severe_failures() -> None:
    assert evaluate(STATUS.select("Severity > 5"), SIGNALLED.old).rows == {("link2", "occ_b", 6)}


def test_example_1_2_and_figure_1_active_and_passive_nodes() -> None:
    microwave = TECHNOLOGY.select("Mode = 'microwave'")
    condition = STATUS.select("Severity > 5").join(microwave, on="Link = L")
    assert evaluate(condition, SIGNALLED.old).rows == {("link2", "occ_b", 6, "link2", "microwave")}
    graph = signal_graph(condition, changed={"Link_Status"})
    assert {node.label: node.active for node in graph.nodes} == {
        "⋈[Link = L]": True,
        "σ[Severity > 5]": True,
        "Link_Status": True,
        "σ[Mode = 'microwave']": False,
        "Link_Technology": False,
    }


def test_example_2_1_the_delta_of_a_transaction() -> None:
    assert delta_difference(EMP, NEW_EMP) == DELTA
    assert DELTA.columns == ("~tid", "~Name", "~Salary", "tid~", "Name~", "Salary~")
    assert str(DELTA).splitlines()[2:] == [
        "0123 | Joe   | 30      | 0123 | Joe   | 33",
        "0456 | Lynn  | 40      | -    | -     | -",
        "-    | -     | -       | 0789 | Ed    | 25",
    ]
    assert {len(part) for part in (DELTA.inserted, DELTA.deleted, DELTA.modified)} == {1}


def test_example_2_2_removals_and_additions() -> None:
    with_tildes = removals(DELTA, tilde=True)
    assert (with_tildes.tid, with_tildes.attributes) == ("~tid", ("~Name", "~Salary"))
    assert dict(with_tildes) == {("0123",): ("Joe", 30), ("0456",): ("Lynn", 40)}
    assert additions(DELTA) == RelationInstance.of(ATTRIBUTES, ("0123", "Joe", 33), ("0789", "Ed", 25))
    assert untilde(with_tildes) == removals(DELTA)
    assert untilde(additions(DELTA, tilde=True)) == additions(DELTA)


def test_example_2_3_compose() -> None:
    assert compose(EMP, DELTA) == NEW_EMP


def test_lemma_1a_a_delta_is_the_outer_join_of_its_sides() -> None:
    sides = removals(DELTA).tuples.items(), additions(DELTA).tuples.items()
    assert DeltaRelation(ATTRIBUTES, frozenset(outer_join(*sides))) == DELTA


def test_lemma_1b_compose_undoes_the_difference() -> None:
    assert compose(EMP, delta_difference(EMP, NEW_EMP)) == NEW_EMP
    assert compose(NEW_EMP, delta_difference(NEW_EMP, EMP)) == EMP


LEAF = relation("EMP", *ATTRIBUTES)
SUBSTITUTIONS = SubstitutionList.of({"EMP": EMP}, {"EMP": DELTA})


def test_lemma_2_changes_of_a_stored_relation() -> None:
    assert DeltaRelation.of_pair(first_principle(LEAF, SUBSTITUTIONS)) == DELTA


def test_lemma_3_changes_lead_from_the_old_to_the_new_value() -> None:
    view = LEAF.select("Salary > 32")
    changes = DeltaRelation.of_pair(first_principle(view, SUBSTITUTIONS))
    assert compose(evaluate(view, SUBSTITUTIONS.old), changes) == evaluate(view, SUBSTITUTIONS.new)


HIGH = DeltaRelation(
    ATTRIBUTES,
    frozenset({DeltaRow(None, None, ("0123",), ("Joe", 33)), DeltaRow(("0456",), ("Lynn", 40), None, None)}),
)


def test_example_2_4_high_salaried_employees() -> None:
    view = LEAF.select("Salary > 32")
    assert DeltaRelation.of_pair(first_principle(view, SUBSTITUTIONS)) == HIGH
    assert hipac_incr_select(DELTA, "Salary > 32") == HIGH
    assert DeltaRelation.of_pair(delta_of(chain_rule(view), SUBSTITUTIONS)) == HIGH


def test_figure_2_the_graph_before_and_after() -> None:
    changes = Changes(LEAF.select("Salary > 32"))
    assert signal_graph(changes).text().splitlines() == [
        "* Changes",
        "  · σ[Salary > 32]",
        "    · EMP",
        "  * ΔEMP",
    ]
    assert signal_graph(chain_rule(changes)).text().splitlines() == ["* IncrSelect[Salary > 32]", "  * ΔEMP"]


def test_incremental_project_keeps_what_differs() -> None:
    renamed = DeltaRelation.of_pair(
        DeltaPair(
            RelationInstance.of(ATTRIBUTES, ("0123", "Joe", 30)), RelationInstance.of(ATTRIBUTES, ("0123", "Jo", 30))
        )
    )
    assert not hipac_incr_project(renamed, ("Salary",))
    assert hipac_incr_project(DELTA, ("Salary",)).rows == {
        DeltaRow(("0123",), (30,), ("0123",), (33,)),
        DeltaRow(None, None, ("0789",), (25,)),
        DeltaRow(("0456",), (40,), None, None),
    }


SENSORS = relation("Sensor_Data", "Sensor", "Temperature", "Pressure", "Remark")
TP = ("Sensor", "Temperature", "Pressure")


def without_outliers(readings: RelationInstance) -> RelationInstance:
    """The readings that lie within 20 degrees of the middle one of their sensor."""
    sensor, temperature = readings.place("Sensor"), readings.place("Temperature")

    def is_kept(row: tuple[object, ...]) -> bool:
        values = sorted(other[temperature] for other in readings.rows if other[sensor] == row[sensor])  # type: ignore[type-var]
        return bool(abs(row[temperature] - values[len(values) // 2]) <= 20)  # type: ignore[operator]

    return readings.filtered(is_kept)


BEFORE = RelationInstance.of(
    SENSORS.attributes,
    (1, "s1", 20, 1000, "ok"),
    (2, "s1", 21, 1001, "ok"),
    (3, "s1", 90, 1002, "ok"),
    (4, "s2", 50, 900, "ok"),
    (5, "s2", 52, 901, "ok"),
)
AFTER = RelationInstance.of(
    SENSORS.attributes,
    (1, "s1", 20, 1000, "checked"),
    (2, "s1", 85, 1001, "ok"),
    (3, "s1", 90, 1002, "ok"),
    (4, "s2", 50, 900, "ok"),
    (5, "s2", 52, 901, "ok"),
)


@pytest.mark.parametrize("key", [(), ("Sensor",)], ids=["whole", "per sensor"])
def test_example_3_changes_of_filtered_data(key: tuple[str, ...]) -> None:
    filter_ = UserOperator("Filter", TP, without_outliers, key)
    condition = SENSORS.project(*TP).apply(filter_)
    once = chain_rule_once(Changes(condition))
    assert show(once) == (
        "IncrFilter(Π[Sensor, Temperature, Pressure](Sensor_Data), "
        "Changes(Π[Sensor, Temperature, Pressure](Sensor_Data)))"
    )
    opened = chain_rule(condition)
    substitutions = SubstitutionList.between({"Sensor_Data": BEFORE}, {"Sensor_Data": AFTER})
    change = delta_of(opened, substitutions)
    assert change == first_principle(condition, substitutions)
    assert change.rows == ({("s1", 20, 1000), ("s1", 21, 1001)}, {("s1", 85, 1001), ("s1", 90, 1002)})


def test_figure_3_the_graph_of_filtered_sensor_data() -> None:
    """IncrFilter above the old projection, which is passive, and IncrProject; the paper's has no base relation."""
    filter_ = UserOperator("Filter", TP, without_outliers)
    assert signal_graph(chain_rule(SENSORS.project(*TP).apply(filter_))).text().splitlines() == [
        "* IncrFilter",
        "  · Π[Sensor, Temperature, Pressure]",
        "    · Sensor_Data",
        "  * IncrProject[Sensor, Temperature, Pressure]",
        "    · Sensor_Data",
        "    * ΔSensor_Data",
    ]


def test_example_3_the_filter_is_not_run_if_the_projection_does_not_change() -> None:
    runs = []

    def counted(readings: RelationInstance) -> RelationInstance:
        runs.append(readings)
        return without_outliers(readings)

    condition = SENSORS.project(*TP).apply(UserOperator("Filter", TP, counted))
    remark = {**BEFORE.tuples, (1,): ("s1", 20, 1000, "checked")}
    new = RelationInstance(SENSORS.attributes, remark)
    assert not delta_of(chain_rule(condition), SubstitutionList.between({"Sensor_Data": BEFORE}, {"Sensor_Data": new}))
    assert runs == []


def test_changes_of_an_operator_by_definition_pair_tuples_by_tid() -> None:
    filter_ = UserOperator("Filter", SENSORS.attributes, without_outliers)
    delta = delta_difference(BEFORE, AFTER)
    changes = hipac_changes(filter_, (BEFORE,), (delta,))
    assert compose(without_outliers(BEFORE), changes) == without_outliers(AFTER)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([DeltaRow(None, None, None, None)], "both NULL"),
        ([DeltaRow((1,), ("Joe", 1), (2,), ("Joe", 2))], "~tid is 1, and tid~ is 2"),
        ([DeltaRow(None, ("Joe", 1), (2,), ("Joe", 2))], "~tid is NULL"),
        ([DeltaRow((1,), ("Joe", 1), None, None), DeltaRow(None, None, (1,), ("Joe", 2))], "another row"),
        ([DeltaRow((1,), ("Joe",), None, None)], "1 values for 2 attributes"),
    ],
)
def test_what_is_no_delta_relation_is_refused(rows: list[DeltaRow], reason: str) -> None:
    with pytest.raises(InvalidDeltaRelation) as caught:
        DeltaRelation(ATTRIBUTES, frozenset(rows))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "row"),
    [
        (RelationInstance.of(ATTRIBUTES, ("0456", "Lynn", 41)), None, ("Lynn", 41)),
        (None, RelationInstance.of(ATTRIBUTES, ("0456", "Lynn", 40)), ("Lynn", 40)),
        (None, RelationInstance.of(ATTRIBUTES, ("0456", "Lynn", 99)), ("Lynn", 99)),
    ],
    ids=["removes what is not there", "adds what is there", "takes a tid that is in use"],
)
def test_what_cannot_be_composed_is_refused_and_named(
    old: RelationInstance | None, new: RelationInstance | None, row: tuple[object, ...]
) -> None:
    empty = RelationInstance(ATTRIBUTES, {})
    delta = DeltaRelation.of_pair(DeltaPair(old or empty, new or empty))
    with pytest.raises(NotComposable) as caught:
        require_composable(EMP, delta, "EMP")
    assert caught.value.parameters["row"] == row


def test_schemas_must_fit() -> None:
    with pytest.raises(InvalidExpression):
        compose(EMP, DeltaRelation(("Name",), frozenset()))
    with pytest.raises(InvalidExpression):
        untilde(EMP)
    mixed = RelationInstance(("~Name", "Salary~"), {}, "~tid")
    with pytest.raises(InvalidExpression):
        untilde(mixed)
    assert untilde(pretilde(EMP)) == untilde(posttilde(EMP)) == EMP
