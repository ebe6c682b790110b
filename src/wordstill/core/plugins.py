"""Registries of methods, formats, transforms and tasks, to which installed packages can add rows.

A package adds a row by an entry point in the registry's group, such as ``wordstill.methods``, with the row's name,
pointing to the row, such as ``my_package.pooling:MaxPooling``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from wordstill.errors import PluginError, in_one_line, unknown_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Row = TypeVar("Row")


class Registry(Mapping[str, Row]):
    """Built-in rows by name, then those of plug-ins.

    Installed packages are searched only when a name is not built in or all names are listed, and a plug-in is
    imported only when its row is used.

    Args:
        kind: What a row is, for messages: "method".
        group: The group of entry points.
        rows: The built-in rows; one that is costly to import is given as ``module:attribute``.
        base: What the rows of plug-ins must be subclasses of; or instances, with ``instances``.
        instances: Whether rows are instances and not classes.
        aliases: Other spellings of built-in names, which are not listed.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        rows: Mapping[str, Row | str],
        base: type[Any] = object,
        *,
        instances: bool = False,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.kind, self.group = kind, group
        self._aliases = dict(aliases or {})
        self._rows = dict(rows)
        self._base, self._instances = base, instances

    def find(self, name: str) -> Row:
        """The row of this name.

        Raises:
            UsageError: There is none; the message lists all names.
        """
        if name not in self:
            raise unknown_name(self.kind, name, self)
        return self[name]

    @property
    def built_in(self) -> dict[str, Row]:
        """The rows of this package alone."""
        return {name: self[name] for name in self._rows}

    @cached_property
    def plugins(self) -> dict[str, EntryPoint]:
        """The entry points of installed packages by name, without importing them.

        Raises:
            PluginError: Two packages use one name, or one uses a built-in name.
        """
        found: dict[str, EntryPoint] = {}
        for point in find_plugins(self.group):
            if point.name in self._rows or point.name in found:
                other = _package(found[point.name]) if point.name in found else "wordstill itself"
                raise PluginError(
                    f"The package {_package(point)} adds a {self.kind} {point.name!r}, but {other} has one "
                    f"of that name. Rename its entry point in the group {self.group}, or uninstall it."
                )
            found[point.name] = point
        return found

    def __getitem__(self, name: str) -> Row:
        name = self._aliases.get(name, name)
        if name not in self._rows:
            return self._load(self.plugins[name])
        row = self._rows[name]
        return cast("Row", pkgutil.resolve_name(row) if isinstance(row, str) else row)

    def __contains__(self, name: object) -> bool:
        return name in self._rows or name in self._aliases or name in self.plugins

    def __iter__(self) -> Iterator[str]:
        yield from self._rows
        yield from self.plugins

    def __len__(self) -> int:
        return len(self._rows) + len(self.plugins)

    def _load(self, point: EntryPoint) -> Row:
        where = f"The {self.kind} {point.name!r} of the package {_package(point)}"
        try:
            row: Any = point.load()
        except Exception as error:  # Foreign code can fail in any way, and the error must name its package.
            raise PluginError(
                f"{where} cannot be imported from {point.value}: {in_one_line(error)}. Repair or uninstall the package."
            ) from error
        is_class = isinstance(row, type)
        if not (isinstance(row, self._base) if self._instances else is_class and issubclass(row, self._base)):
            wanted = f"a {self._base.__name__}" if self._instances else f"a subclass of {self._base.__name__}"
            raise PluginError(f"{where} must be {wanted}; got {row!r} from {point.value}.")
        return cast("Row", row)


def find_plugins(group: str) -> list[EntryPoint]:
    """The entry points of a group in all installed packages."""
    from importlib.metadata import entry_points  # Slow to import, and seldom needed.

    return list(entry_points(group=group))


def _package(point: EntryPoint) -> str:
    return repr(point.dist.name) if point.dist is not None else repr(point.module)
