"""The operator's own config file, changed in one place and replaced at once, or left as it was."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from errno import EACCES
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from k2tui.adapters.config_file import ConfigFile, parsed_toml
from k2tui.core.config_document import profile_table
from k2tui.core.errors import ConfigErrors, ExitCode, K2Error
from k2tui.core.flags import identity
from k2tui.core.secrets import MASK
from k2tui.core.settings import ProfileSettings
from k2tui.core.toml_lines import dotted

_KEYS = ("extends", "cmd", "flags", "env", "unset")


class TomlConfigWriter:
    """Writes into the file that `config` has loaded; comments, order and everything else in it stay."""

    def __init__(self, config: ConfigFile) -> None:
        self._config = config

    def save_profile(self, profile: ProfileSettings, *, server: str | None = None) -> str:
        """Write or replace [profiles.NAME]; with `server`, that server uses it from now on. Gives the file's path."""
        from k2tui.adapters import toml_edit  # noqa: PLC0415  most k2tuis never write

        table = profile_table(profile)
        self._refuse_masks(profile.name, table)
        self._refuse_bytes(profile.name, table)
        data, text, document = self._read()
        path = ("profiles", profile.name)
        wanted = {key: table.get(key, {} if key in ("flags", "env") else None) for key in _KEYS}
        try:
            if profile.name in _tables_of(document, "profiles"):
                changed = toml_edit.with_table(text, path, wanted, identity)
            else:
                changed = self._added(text, path, table)
            if server is not None:
                used = {"profile": profile.name}
                changed = toml_edit.with_table(changed, ("servers", server), used, identity)
        except toml_edit.UneditableError as error:
            raise self._uneditable(str(error), toml_edit.table_text(path, table)) from error
        expected = deepcopy(document)
        expected.setdefault("profiles", {})[profile.name] = table
        if server is not None:
            expected["servers"][server]["profile"] = profile.name
        if _meaning(self._parsed(changed)) != _meaning(expected):
            raise self._uneditable("it is written in an unusual way", toml_edit.table_text(path, table))
        return self._replace(data, changed)

    def add_server(self, toml: str) -> str:
        """Put these tables at the end. Gives the file's path."""
        from k2tui.adapters import toml_edit  # noqa: PLC0415  as above

        data, text, document = self._read()
        more = parsed_toml(toml, self._path)
        for section, tables in more.items():
            for name in tables:
                if name in _tables_of(document, section):
                    raise K2Error(
                        f"{self._path} has [{dotted((section, name))}] already, and was left as it is",
                        code="exists",
                        subject=self._path,
                        hint="take it out, or give it another name",
                        exit_code=ExitCode.USAGE,
                    )
        changed = toml_edit.appended(text, toml)
        try:
            found = self._parsed(changed)
        except ConfigErrors as error:
            raise self._uneditable("it is written in an unusual way", toml) from error
        expected = deepcopy(document)
        for section, tables in more.items():
            expected.setdefault(section, {}).update(tables)
        if found != expected:
            raise self._uneditable("it is written in an unusual way", toml)
        return self._replace(data, changed)

    @property
    def _path(self) -> str:
        return str(self._config.path)

    def _added(self, text: str, path: tuple[str, str], table: Mapping[str, object]) -> str:
        """A table at the end, or in the inline table that holds the others."""
        from k2tui.adapters import toml_edit  # noqa: PLC0415  as above

        changed = toml_edit.appended(text, toml_edit.table_text(path, table))
        try:
            self._parsed(changed)
        except ConfigErrors:
            return toml_edit.with_table(text, path[:1], {path[1]: table}, str)
        return changed

    def _read(self) -> tuple[bytes, str, dict[str, Any]]:
        """The file as it was loaded: bytes, text, document. K2Error where there is none, or it is another by now."""
        if not self._config.exists():
            raise K2Error(
                f"there is no config at {self._path} to write into",
                code="no_config_file",
                subject=self._path,
                hint="k2tui config init writes one; start k2tui again then",
                exit_code=ExitCode.USAGE,
            )
        data = self._config.read()
        self._refuse_changed(data)
        text = self._config.text_of(data)
        return data, text, self._parsed(text)

    def _refuse_changed(self, data: bytes) -> None:
        if self._config.loaded != data:
            raise K2Error(
                f"{self._path} was changed since k2tui read it, and was left as it is",
                code="config_changed",
                subject=self._path,
                hint="start k2tui again: it then works on the file as it is now",
            )

    def _parsed(self, text: str) -> dict[str, Any]:
        return parsed_toml(text, self._path)

    def _refuse_masks(self, name: str, table: Mapping[str, object]) -> None:
        hidden = [where for where, value in _texts(table) if MASK in value]
        if hidden:
            raise K2Error(
                f"profile {name} can't be saved: {', '.join(hidden)} has a secret that k2tui knows only as {MASK}",
                code="secret_in_profile",
                subject=name,
                hint="type its value anew, or take it out and put it into the config by hand",
                exit_code=ExitCode.USAGE,
            )

    def _refuse_bytes(self, name: str, table: Mapping[str, object]) -> None:
        """What was typed as bytes that are no UTF-8 can be started, but stand in no TOML."""
        odd = [where for where, value in _texts(table) if any("\ud800" <= char <= "\udfff" for char in value)]
        if odd:
            raise K2Error(
                f"profile {name} can't be saved: {', '.join(odd)} has bytes that are no text in UTF-8",
                code="no_text",
                subject=name,
                hint="a config is text: put the value into a file, or into the setup line of the server",
                exit_code=ExitCode.USAGE,
            )

    def _uneditable(self, why: str, lines: str) -> K2Error:
        return K2Error(
            f"{self._path} can't be changed by k2tui without touching more ({why}), and was left as it is",
            code="uneditable",
            subject=self._path,
            hint=f"write it yourself:\n{lines}",
        )

    def _replace(self, before: bytes, changed: str) -> str:
        """Check the whole new file, and put it in the place of the old one at once."""
        from k2tui.adapters.toml_edit import with_line_ends_of  # noqa: PLC0415  as above

        self._config.settings_of(changed)
        data = with_line_ends_of(before.decode("utf-8"), changed).encode("utf-8")
        target = Path(os.path.realpath(self._config.path))
        try:
            was = target.stat()
            if not was.st_mode & 0o222:  # a new file in its place would get around what its owner wants
                raise PermissionError(EACCES, "it is read-only")
            descriptor, beside = mkstemp(prefix=f".{target.name}.k2tui-", dir=target.parent)
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(data)
                    with suppress(PermissionError):  # only root may give a file away
                        os.fchown(stream.fileno(), was.st_uid, was.st_gid)
                    os.fchmod(stream.fileno(), was.st_mode & 0o7777)
                    stream.flush()
                    os.fsync(stream.fileno())
                self._refuse_changed(target.read_bytes())
                os.replace(beside, target)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside)
                raise
            _sync_directory(target.parent)
        except OSError as error:
            raise K2Error(
                f"{self._path} can't be written: {error.strerror or type(error).__name__}; it was left as it is",
                code="unwritable",
                subject=self._path,
                hint="see who may write there, and whether the disk is full",
            ) from error
        self._config.loaded = data
        return self._path


def _sync_directory(directory: Path) -> None:
    """The new name survives a power cut; a file system that can't is as good as it gets."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _tables_of(document: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    found = document.get(section, {})
    return found if isinstance(found, dict) else {}


def _meaning(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document in which flags have one spelling, and nothing is written that means the same as nothing."""
    profiles = {name: _profile_meaning(table) for name, table in _tables_of(document, "profiles").items()}
    return {**document, "profiles": profiles}


def _profile_meaning(table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    flags = table.get("flags", {})
    kept = {key: value for key, value in table.items() if value != {} and key != "flags"}
    return {**kept, "flags": {identity(name): value for name, value in flags.items()}}


def _texts(value: object, at: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Every text of a table, with its key."""
    if isinstance(value, str):
        return [(dotted(at), value)]
    if isinstance(value, Mapping):
        return [found for key, item in value.items() for found in _texts(item, (*at, str(key)))]
    if isinstance(value, (list, tuple)):
        return [found for item in value for found in _texts(item, at)]
    return []
