"""Settings: config classes that validate themselves, and their text form ``name:key=value,key=value``.

A config is a frozen dataclass that inherits `Config`. Its type hints are its schema: a ``Literal`` of texts, or a
number with a `Range`, as in ``dim: Annotated[int | None, Range(1, 16_384)] = None``.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.core.plugins import Registry

LARGEST = 3e38
"""Larger numbers are infinite in float32."""
LARGEST_INTEGER = 2**31 - 1
PRESET = "preset"
KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
ADDED = {"added": True}
"""Metadata of a field that a config got later: records without it have the default, and still look the same."""
UNSAFE_IN_NAMES = re.compile(r"[^\w.+-]+")


class Range(NamedTuple):
    """Finite numbers between two bounds, inclusive by default."""

    low: float
    high: float = math.inf
    above: bool = False
    """Exclude the lower bound."""
    below: bool = False
    """Exclude the upper bound."""

    def check(self, name: str, value: Any) -> None:
        """Raise a `UsageError` unless the value is a number in this range."""
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not self._holds(value):
            raise UsageError(f"{name} must be {self}; got {value!r}.")

    def _holds(self, value: float) -> bool:
        return (self.low < value if self.above else self.low <= value) and (
            value < self.high if self.below else value <= self.high
        )

    def __str__(self) -> str:
        if not (self.above or self.below) and self.high < math.inf:
            return f"from {_bound(self.low)} to {_bound(self.high)}"
        low = f"above {_bound(self.low)}" if self.above else f"{_bound(self.low)} or more"
        if self.high == math.inf:
            return low
        return f"{low} and {'below' if self.below else 'at most'} {_bound(self.high)}"


SEEDS = Range(0, 2**32 - 1)
"""Seeds that every random number generator accepts."""


class Config:
    """Base of settings dataclasses: checks the fields against their type hints."""

    def __post_init__(self) -> None:
        for name, kind in field_kinds(type(self)).items():
            kind.check(name, getattr(self, name))


class FieldKind(NamedTuple):
    """The values that a field of a config takes, from its type hint."""

    type: Any
    """``int``, ``float``, ``bool``, ``str``, or a type without a text form."""
    choices: tuple[str, ...] = ()
    allowed: Range | None = None
    optional: bool = False

    @classmethod
    def from_hint(cls, hint: Any, allowed: Range | None = None) -> FieldKind:
        """The kind of a type hint."""
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            return cls.from_hint(hint, next((note for note in notes if isinstance(note, Range)), None))
        options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        first = next(option for option in options if option is not types.NoneType)
        optional = types.NoneType in options
        if get_origin(first) is Literal:
            return cls(str, get_args(first), optional=optional)
        return cls(first, (), allowed, optional)

    def check(self, name: str, value: Any) -> None:
        """Raise a `UsageError` if the value has the wrong type, is not among the choices, or is out of range."""
        if value is None and self.optional:
            return
        self._check_type(name, value)
        if self.choices and value not in self.choices:
            raise unknown_name(f"value of {name}", str(value), self.choices)
        if self.allowed is not None and not isinstance(value, tuple):
            self.allowed.check(name, value)
        elif self.allowed is not None:
            if not value:
                raise UsageError(f"{name} must be one or more numbers; got none.")
            for number in value:
                self.allowed.check(f"every number of {name}", number)

    def _check_type(self, name: str, value: Any) -> None:
        """Refuse a text in place of a list of texts, or anything else in place of a config."""
        if get_origin(self.type) is tuple and isinstance(value, str):
            raise UsageError(f"{name} must be a list of texts; got the text {value!r}. Use [{value!r}].")
        if isinstance(self.type, type) and issubclass(self.type, Config) and not isinstance(value, self.type):
            kind = self.type.__name__
            raise UsageError(f"{name} must be a {kind}; got {value!r}. Use {kind}(...).")

    def read(self, text: str, where: str, none: str = "none") -> Any:
        """Parse a text; ``where`` names the setting in messages, and the text ``none`` is None.

        Raises:
            UsageError: The text is not a valid value.
        """
        if self.optional and text.lower() == none:
            return None
        if self.choices:
            self.check(where, text)
            return text
        try:
            value = {"true": True, "false": False}[text.lower()] if self.type is bool else self.type(text)
        except (ValueError, KeyError):
            expected = KINDS[self.type] + (f" or {none}" if self.optional else "")
            raise UsageError(f"{where}: expected {expected}, got {text!r}.") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{where} must be a finite number; got {value}.")
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise UsageError(
                f"{where} must be a whole number up to {LARGEST_INTEGER:,}; got one of {len(str(abs(value)))} digits."
            )
        return value


def field_kinds(config_type: type[Any]) -> Mapping[str, FieldKind]:
    """The kind of each field of a config; a field that a subclass redeclares keeps its range."""
    kinds: dict[str, FieldKind] = {}
    for base in reversed(config_type.__mro__):
        for name, hint in get_type_hints(base, include_extras=True).items():
            kind = FieldKind.from_hint(hint)
            inherited = kinds[name].allowed if name in kinds else None
            kinds[name] = kind._replace(allowed=kind.allowed or inherited)
    return {field.name: kinds[field.name] for field in dataclasses.fields(config_type)}


def read_settings(config_type: type[Any], given: Mapping[str, str], where: str) -> dict[str, Any]:
    """Parse settings given as texts by field; returns them in the order of the config's fields.

    Raises:
        UsageError: A field or a value is unknown.
    """
    kinds = field_kinds(config_type)
    for key in given:
        if not kinds:
            raise UsageError(f"{where} has no settings; got {key!r}.")
        if key not in kinds:
            raise unknown_name(f"setting of {where}", key, kinds)
    return {key: kind.read(given[key], f"{where}:{key}") for key, kind in kinds.items() if key in given}


MOST_COMBINATIONS = 1000


class Spec(NamedTuple):
    """A name with settings, as texts."""

    name: str
    settings: Mapping[str, str]

    @classmethod
    def parse(cls, text: str, lists: Collection[str] = ()) -> Spec:
        """Parse ``name`` or ``name:key=value,key=value``; values of the settings in ``lists`` may have commas.

        Raises:
            UsageError: The syntax is wrong, or a setting is given twice.
        """
        name, _, rest = text.partition(":")
        return cls(name.strip(), {}).adding(rest.split(","), lists)

    @classmethod
    def parse_chain(cls, text: str) -> list[Spec]:
        """Parse ``name:key=value,key=value,name,name``: a part with ``=`` belongs to the name before it."""
        chain: list[Spec] = []
        for part in text.split(","):
            head, _, rest = part.partition(":")
            if chain and "=" in head:
                chain[-1] = chain[-1].adding([part])
            else:
                chain.append(cls(head.strip(), {}).adding([rest]))
        return chain

    def adding(self, parts: Iterable[str], lists: Collection[str] = ()) -> Spec:
        """The same with more settings, each as ``key=value``."""
        settings, key = dict(self.settings), ""
        for part in filter(None, (part.strip() for part in parts)):
            before, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals and key in lists:
                settings[key] += f",{part}"
                continue
            if not equals:
                raise UsageError(
                    f"Cannot read {part!r} in the settings of {self.name}. Expected {self.name}:setting=value,..."
                )
            if before in settings:
                raise UsageError(
                    f"{self.name}:{before} is set twice, to {settings[before]!r} and {value!r}. Set it once."
                )
            key, settings[before] = before, value
        return self._replace(settings=settings)


def each_of_grid(text: str) -> list[str]:
    """All combinations of the values separated by ``|`` in a text.

    Raises:
        UsageError: There are too many.

    >>> each_of_grid("glove:window=5|10,dim=50")
    ['glove:window=5,dim=50', 'glove:window=10,dim=50']
    """
    name, colon, rest = text.partition(":")
    parts = []
    for part in rest.split(","):
        key, equals, values = part.partition("=")
        parts.append([f"{key}{equals}{value}" for value in values.split("|")])
    count = math.prod(map(len, parts))
    if count > MOST_COMBINATIONS:
        raise UsageError(f"{text!r} has {count:,} combinations of settings. Name at most {MOST_COMBINATIONS:,}.")
    return [f"{name}{colon}{','.join(chosen)}" for chosen in itertools.product(*parts)]


class Configurable:
    """Base of classes chosen by name and settings: methods, baselines, transforms.

    Attributes:
        name: The name with its version, such as ``still.v1``, so that records keep their meaning.
        config_type: The frozen dataclass of the settings.
        presets: Named groups of settings.
    """

    name: ClassVar[str]
    config_type: ClassVar[type[Any]]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}


Kind = TypeVar("Kind", bound=Configurable)


@dataclass(frozen=True)
class Configured(Generic[Kind]):
    """A class with its settings, and a label that can name a folder: ``ase-subword-max``."""

    label: str
    kind: type[Kind]
    config: Any

    def build(self, *context: Any) -> Kind:
        """An instance, made from the settings and any further arguments of the class."""
        make: Callable[..., Kind] = self.kind
        return make(self.config, *context)

    def facts(self) -> dict[str, Any]:
        """Name and settings as plain data, for provenance; without `ADDED` settings at their defaults."""
        settings = dataclasses.asdict(self.config)
        for field in dataclasses.fields(self.config):
            if field.metadata == ADDED and settings[field.name] == field.default:
                del settings[field.name]
        return {"name": self.kind.name, **settings}


def configure(spec: Spec, kind: type[Kind], **fixed: Any) -> Configured[Kind]:
    """A class with the settings of a spec, which override those of its preset.

    ``fixed`` settings are added, but are not part of the label.

    Raises:
        UsageError: A setting or value is unknown, out of range, or contradicts another.
    """
    given = dict(spec.settings)
    preset = given.pop(PRESET, None) if kind.presets else None
    if preset is not None and preset not in kind.presets:
        raise unknown_name(f"preset of {spec.name}", preset, kind.presets)
    settings = read_settings(kind.config_type, given, spec.name)
    parts = [spec.name, *filter(None, [preset]), *(f"{key}-{value}" for key, value in settings.items())]
    label = UNSAFE_IN_NAMES.sub("_", "-".join(parts))
    try:
        config = kind.config_type(**{**kind.presets.get(preset or "", {}), **settings, **fixed})
    except UsageError as error:
        # Several classes may share a config, so its message does not say which one was named.
        if str(error).startswith(spec.name):
            raise
        raise UsageError(f"{spec.name}: {error}") from None
    return Configured(label, kind, config)


Asked = TypeVar("Asked")
Found = TypeVar("Found", bound=Configured[Any])


def configure_all(
    asked: Sequence[Asked], table: Registry[Any], read: Callable[[Asked], Iterable[Found]]
) -> list[Found]:
    """All results of reading several requests; ``table`` is the registry of their names.

    Raises:
        UsageError: There is no request, one is wrong, or two results have the same label.
    """
    if not asked:
        raise UsageError(f"No {table.kind} was named. Known: {', '.join(sorted(table))}.")
    chosen = [one for each in asked for one in read(each)]
    labels = [one.label for one in chosen]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"The {table.kind} {label!r} was named twice. Name each {table.kind} and setting once.")
    return chosen


def _bound(bound: float) -> str:
    # By value, not by type: typing treats equal hints as one object, so 1 and 1.0 must look the same.
    return f"{bound:,.0f}" if abs(bound) < 1e12 and bound == int(bound) else f"{bound:g}"
