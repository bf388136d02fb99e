"""The JSON schema of policy files, for editors: what may be written, which is more than how a policy stores it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

_Schema = dict[str, Any]
_Handler = Callable[[Any], _Schema]


def text_schema(pattern: str) -> _Schema:
    """The schema of a text that the pattern matches as a whole."""
    return {"type": "string", "pattern": rf"^\s*({pattern})\s*$"}


@dataclass(frozen=True)
class OrText:
    """Annotates a type that may be written as a text of this pattern, too."""

    pattern: str

    def __get_pydantic_json_schema__(self, core: Any, handler: _Handler) -> _Schema:
        return {"anyOf": [handler(core), text_schema(self.pattern)]}


@dataclass(frozen=True)
class OrOne:
    """Annotates a list for whose single element the element alone may be written."""

    def __get_pydantic_json_schema__(self, core: Any, handler: _Handler) -> _Schema:
        several = handler(core)
        return {"anyOf": [several["items"], several]}


class _Written(GenerateJsonSchema):
    """What is not given is left out: a key without a value is an error, and a section's defaults are its keys'."""

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        written = super().default_schema(schema)
        return {
            key: value for key, value in written.items() if key != "default" or isinstance(value, (str, int, float))
        }


def json_schema(model: type[BaseModel]) -> _Schema:
    """The JSON schema of files that hold the model."""
    return model.model_json_schema(by_alias=True, mode="validation", schema_generator=_Written)
