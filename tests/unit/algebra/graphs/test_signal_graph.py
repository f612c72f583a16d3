"""Signal graphs as text, DOT and Mermaid."""

from __future__ import annotations

from xml.etree import ElementTree

from tidings.algebra import chain_rule, relation, signal_graph

R, S = relation("r", "k", "a"), relation("s", "k", "b")
GRAPH = signal_graph(chain_rule(R.select("a > 1").project("k").union(S.project("k"))))


def test_text_marks_what_is_active() -> None:
    assert GRAPH.text().splitlines() == [
        "* IncrUnion",
        "  · Π[k]",
        "    · σ[a > 1]",
        "      · r",
        "  · Π[k]",
        "    · s",
        "  * IncrProject[k]",
        "    · σ[a > 1]",
        "      · r",
        "    * IncrSelect[a > 1]",
        "      * Δr",
        "  * IncrProject[k]",
        "    · s",
        "    * Δs",
    ]


def test_shared_nodes_are_drawn_once() -> None:
    labels = [node.label for node in GRAPH.nodes]
    assert labels.count("r") == labels.count("σ[a > 1]") == 1
    assert GRAPH.root.label == "IncrUnion"


def test_a_drawing_has_every_node_and_edge_once() -> None:
    """Each node is above what it reads; what is passive is dashed, edges from it too."""
    drawing = ElementTree.fromstring(GRAPH.svg())
    name = "{http://www.w3.org/2000/svg}"
    texts, boxes = drawing.findall(f"{name}text"), drawing.findall(f"{name}rect")
    assert [text.text for text in texts] == [node.label for node in GRAPH.nodes]
    assert [box.get("stroke-dasharray") is None for box in boxes] == [node.active for node in GRAPH.nodes]
    edges = [below for node in GRAPH.nodes for below in node.inputs]
    lines = drawing.findall(f"{name}line")
    assert [line.get("stroke-dasharray") is None for line in lines] == [GRAPH.nodes[below].active for below in edges]
    heights = [float(box.get("y", "")) for box in boxes]
    assert all(heights[node.number] < heights[below] for node in GRAPH.nodes for below in node.inputs)
    assert GRAPH._repr_svg_() == GRAPH.svg()
    assert "a &lt; 1" in signal_graph(R.select("a < 1")).svg()


def test_dot_and_mermaid_draw_the_passive_dashed() -> None:
    graph = signal_graph(R.select("""a > 1 AND k = '"'"""), changed={"r"})
    assert graph.dot().splitlines() == [
        "digraph changes {",
        "  rankdir=BT;",
        "  node [shape=box];",
        '  n0 [label="r"];',
        """  n1 [label="σ[a > 1 AND k = '\\"']"];""",
        "  n0 -> n1;",
        "}",
    ]
    passive = signal_graph(R.select("a > 1"))
    assert '  n1 [label="σ[a > 1]", style=dashed];' in passive.dot()
    assert "  n0 -> n1 [style=dashed];" in passive.dot()
    assert passive.mermaid().splitlines() == [
        "flowchart BT",
        '  n0["r"]:::passive',
        '  n1["σ[a > 1]"]:::passive',
        "  n0 -.-> n1",
        "  classDef passive stroke-dasharray: 4 4",
    ]
    assert '  n0["r"]' in graph.mermaid().splitlines()
