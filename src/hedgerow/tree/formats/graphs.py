"""Trees as networkx graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.errors import TreeError, some
from hedgerow.tree.formats.edges import read_edges
from hedgerow.tree.formats.node_table import NodeTable

if TYPE_CHECKING:
    import networkx

_EXTRAS = ("rank", "title")


def read_networkx(graph: networkx.DiGraph) -> NodeTable:
    """Read a directed graph with edges from parent to child; node attributes "rank" and "title" are kept.

    Nodes become `str(node)`.
    """
    if not (hasattr(graph, "edges") and hasattr(graph, "is_directed")) or not graph.is_directed():
        raise TreeError("Give a directed graph: a networkx.DiGraph with edges from parent to child.")
    nodes: dict[str, Any] = {}
    for node in graph.nodes:
        if str(node) in nodes:
            raise TreeError(f"Two nodes of the graph are called {str(node)!r}. Names must be distinct.")
        nodes[str(node)] = node
    # An isolated node is a second root that no edge would reveal.
    alone = [name for name, node in nodes.items() if graph.degree(node) == 0]
    if alone and len(nodes) > 1:
        raise TreeError(f"Isolated nodes, without any edge: {some(alone)}. Add edges, or remove the nodes.")
    table = read_edges((str(parent), str(child)) for parent, child, *_ in graph.edges)

    def attribute(key: str) -> list[str] | None:
        values = [str(graph.nodes[nodes[name]].get(key) or "") for name in table.names]
        return values if any(values) else None

    return NodeTable(table.names, table.parent, attribute("rank"), attribute("title"))


def to_networkx(table: NodeTable) -> networkx.DiGraph:
    """Return a `networkx.DiGraph` of names, with node attributes "rank" and "title" where a node has them."""
    try:
        import networkx
    except ImportError:
        raise ImportError("to_networkx needs networkx, which is not installed: pip install networkx") from None
    graph = networkx.DiGraph()
    graph.add_nodes_from(table.names)
    graph.add_edges_from(
        (table.names[parent], name)
        for name, parent in zip(table.names, table.parent.tolist(), strict=True)
        if parent >= 0
    )
    for extra in _EXTRAS:
        values = getattr(table, extra)
        if values is not None:
            networkx.set_node_attributes(
                graph, {name: value for name, value in zip(table.names, values, strict=True) if value}, extra
            )
    return graph
