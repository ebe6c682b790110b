"""Help texts: arguments and flags by their names, without Python's types, and the plug-ins that a command can use."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup

from wordstill.core.plugins import find_plugins

PLUGINS = {
    "distill": "wordstill.methods",
    "train": "wordstill.baselines",
    "evaluate": "wordstill.tasks",
    "transform": "wordstill.transforms",
    "convert": "wordstill.formats",
}


class HelpfulCommand(TyperCommand):
    """A command with plain help that names its plug-ins."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        if self.name in PLUGINS and (found := find_plugins(PLUGINS[self.name])):
            names = ", ".join(sorted(point.name for point in found))
            self.epilog = f"Plug-ins: {names}\n\n{self.epilog}"
        super().format_help(ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them."""
        return _without_types(super().get_params(ctx))


class HelpfulGroup(TyperGroup):
    """A group of commands with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them."""
        return _without_types(super().get_params(ctx))


class _NamedArgument(TyperArgument):
    """An argument shown as NAME, [NAME] or NAME..., where typer would add its type."""

    def display_type_rich(self, ctx: Any) -> None:
        """No type: the help says what to give."""

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        """The argument in the usage line."""
        name = str(self.metavar or self.name)
        return [(name if self.required else f"[{name}]") + ("..." if self.nargs != 1 else "")]


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperArgument):
            parameter.__class__ = _NamedArgument
        elif parameter.is_flag and parameter.metavar is None:
            parameter.metavar = ""
    return parameters
