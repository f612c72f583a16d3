"""The numbers by which the catalog knows relations: each is given once."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.store.relation.view import StoredView, View


@dataclass(slots=True)
class RelationIds:
    """Gives numbers to new relations, and knows those of views that are not stored.

    Tables hold their own numbers, and a stored view has the number of its rows.
    """

    last: int = 0
    views: dict[str, int] = field(default_factory=dict)
    """The numbers of views that are not stored, by name."""

    def next(self) -> int:
        """A number that no relation has had."""
        self.last += 1
        return self.last

    def of(self, view: View | StoredView) -> int:
        """The number of a view."""
        return self.views[view.name] if isinstance(view, View) else view.rows.id

    def set(self, view: View | StoredView, id: int) -> None:
        """Know a view by its number from now on; a stored one needs no entry here."""
        self.views.pop(view.name, None)
        if isinstance(view, View):
            self.views[view.name] = id
