"""What is changed in the launch sheet: flags and variables, what it begins from, and what is saved of it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

from k2tui.core.builds import BuildFlag, Takes
from k2tui.core.errors import K2Error
from k2tui.core.flag_completion import Candidate, candidates
from k2tui.core.flag_values import find_flag, takes_words, wrong_value
from k2tui.core.secrets import MASK
from k2tui.ui import sheet_choices
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.screens.planned import PlannedLaunch
from k2tui.ui.setting_rows import SheetRow
from k2tui.ui.sheet_notes import READ_ONLY
from k2tui.ui.sheet_state import Draft, Edit, edit_of
from k2tui.ui.widgets.sheet_rows import SheetRows

Choice = tuple[str, str, str, str]
"""The answer, a mark or a kind, the name, and what is known of it."""


class SheetEdits(PlannedLaunch):
    """The changing half of the launch sheet."""

    def __init__(self, fleet: FleetLike, name: str, draft: Draft | None = None) -> None:
        super().__init__(fleet, name, draft)
        self.rows = SheetRows(id="sheet-rows")
        self._doubted = ""
        """A line that was refused once because the build has no such flag: given again, it is taken."""

    def complain(self, words: str) -> None:
        """Say what is wrong; nothing was changed."""
        self.errors, self.said = (words,), ()
        self.draw_again()

    def say(self, words: str) -> None:
        """Say what was done, or would be."""
        self.errors, self.said = (), (words,)
        self.draw_again()

    def typed_into(self) -> None:
        self.set_focus(self.rows)
        self.draw_again()

    def _edit(self, edit: Edit) -> str | None:
        """One more edit, with the cursor on its row; gives what is wrong with it."""
        wrong = self.try_draft(self.draft.with_edit(edit))
        if not wrong:
            self.rows.select(edit.name if edit.is_env else f"--{edit.name}")
            self.draw_again()
        return "; ".join(wrong) or None

    def _made(self, edit: Edit) -> None:
        if wrong := self._edit(edit):
            self.complain(wrong)

    # ---- add

    def action_sheet_add(self) -> None:
        self._doubted = ""
        told = ["a flag of this build with its value, or a variable: NAME=value"] if self.build else []
        self.ask("add --flag value, or NAME=value:", "", self._added, told=told, candidates=self._may_become)

    def _may_become(self, text: str) -> Sequence[Candidate]:
        return candidates(text, self.build, self.variables)

    def _added(self, text: str) -> str | None:
        edit = edit_of(text)
        if edit is None:
            return None
        if edit.is_env:
            return self._fixed(edit.name) or self._edit(edit)
        if fixed := self._fixed(f"--{edit.name}"):
            return fixed
        flag = find_flag(self.build, edit.name)
        if flag is None and self.build is not None and self._doubted != text:
            self._doubted = text
            return self._unknown(edit.name)
        if flag is not None and (wrong := wrong_value(flag, edit.value or "")) is not None:
            return wrong
        return self._edit(edit if flag is None else Edit(flag.name, edit.value, False))

    def _unknown(self, name: str) -> str:
        assert self.build is not None
        near = difflib.get_close_matches(name, [flag.name for flag in self.build.flags], n=3, cutoff=0.5)
        begun = [flag.name for flag in self.build.flags if flag.name.startswith(name)][:3]
        meant = ", ".join(f"--{other}" for other in begun or near)
        version = f" {self.build.version}" if self.build.version else ""
        return (
            f"{self.build.engine}{version} has no --{name}{f': did you mean {meant}?' if meant else '.'} "
            "Press enter once more to add it all the same"
        )

    # ---- edit

    def action_sheet_edit(self) -> None:
        row = self.rows.selected
        if row is None:
            return
        setting, flag = row.setting, row.flag
        if fixed := self._fixed(setting.name):
            self.complain(fixed)
            return
        plain = setting.name.lstrip("-")
        if flag is not None and flag.takes is Takes.NOTHING:
            self._made(Edit(plain, None if setting.new is not None else "", False))
            return
        if flag is not None and flag.choices and flag.takes is not Takes.SEVERAL:
            choices = [(one, "", one, "now" if one == setting.new else "") for one in flag.choices]
            self._pick(setting.name, choices, setting.new or "", lambda value: self._made(Edit(plain, value, False)))
            return
        self._type_value(row, flag)

    def _type_value(self, row: SheetRow, flag: BuildFlag | None) -> None:
        setting = row.setting
        present = setting.new if setting.new is not None else setting.old or ""
        is_secret = MASK in present
        value = "" if is_secret else present
        told = [f"takes {takes_words(flag)}. {row.about}" if flag is not None else row.about]
        if is_secret:
            told.append("the present value is a secret and is not shown: type the new one, or press esc")

        def taken(text: str) -> str | None:
            if is_secret and not text:
                return None
            if flag is not None and (wrong := wrong_value(flag, text)) is not None:
                return wrong
            return self._edit(Edit(setting.name.lstrip("-"), text.strip(), setting.is_env))

        between = "=" if setting.is_env else " "
        head = f"{setting.name}{between}"

        def begun(text: str) -> Sequence[Candidate]:
            """What is there already stands for nothing typed yet: all values are offered."""
            found = candidates(head if text == value else f"{head}{text}", self.build, self.variables)
            return [Candidate(one.text.removeprefix(head), one.note) for one in found]

        self.ask(
            head if setting.is_env else f"{setting.name}:",
            value,
            taken,
            told=told,
            candidates=begun,
            is_secret=is_secret,
        )

    def _pick(self, title: str, choices: Iterable[Choice], at: str, taken: Callable[[str], None]) -> None:
        from k2tui.ui.screens.help import ChooseScreen, Entry  # noqa: PLC0415  only when asked for

        def chosen(answer: str | None) -> None:
            if answer is not None:
                taken(answer)

        self.app.push_screen(ChooseScreen(title, [Entry(*choice) for choice in choices], at=at), chosen)

    # ---- remove, take back

    def action_sheet_remove(self) -> None:
        """Take the row away; on one that is taken away, have it again as it runs now."""
        row = self.rows.selected
        if row is None:
            return
        setting = row.setting
        name = setting.name.lstrip("-")
        if setting.new is not None:
            if fixed := self._fixed(setting.name, removing=True):
                self.complain(fixed)
            else:
                self._made(Edit(name, None, setting.is_env))
            return
        self.use(self.draft.without(name, is_env=setting.is_env))
        if all(row.setting.new is not None for row in self.rows_now() if row.setting.name == setting.name):
            return
        if MASK in (setting.old or ""):
            self.complain(f"{setting.name} is a secret that no run keeps: add it with its value")
        else:
            self._made(Edit(name, setting.old or "", setting.is_env))

    def action_sheet_take_back(self) -> None:
        if self.draft.taken_back() == self.draft:
            self.say("there is nothing to take back")
        else:
            self.use(self.draft.taken_back())

    def action_sheet_reset(self) -> None:
        self.use(self.draft.reset())

    def _fixed(self, name: str, *, removing: bool = False) -> str | None:
        """Why this one can't be changed here."""
        giver = self.plan.sources.get(name)
        if giver == "server":
            return f"{name} is given by [servers.{self.name_of_server}] in the config: change it there"
        if giver == "k2tui" and removing:
            return f"{name} is set by k2tui wherever nothing else is given: give it another value instead"
        return None

    # ---- begin from something else

    def action_sheet_profile(self) -> None:
        profiles = self.fleet.settings.profiles.values()
        choices = [(one.name, "", one.name, sheet_choices.profile_words(one, self.view)) for one in profiles]
        self._pick("Profile", choices, self.plan.profile.name, self._use_profile)

    def _use_profile(self, name: str) -> None:
        self.use(self.draft.begun_from(profile=name))

    def action_sheet_paste(self) -> None:
        """Begin from a pasted command line, from a run of this server, or from what somebody else runs on the node."""
        runs = sheet_choices.run_choices(self.view)
        found = sheet_choices.found_choices(self.fleet.servers(), self.node.name)
        choices: list[Choice] = [("paste", "paste", "a command", "one line or several, as they stand in your shell")]
        choices += [(f"run {run_id}", "run", name, words) for run_id, name, words in runs]
        choices += [(f"found {name}", "process", pid, words) for name, pid, words in found]
        if len(choices) > 1:
            self._pick("Begin from", choices, "", self._begin)
        else:
            self._paste()

    def _begin(self, answer: str) -> None:
        kind, _, name = answer.partition(" ")
        if kind == "paste":
            self._paste()
        elif kind == "run":
            self.use(self.draft.begun_from(run=name))
        else:
            self._from_found(name)

    def _paste(self) -> None:
        told = ["paste the command as it stands in your shell, also over several lines, then press enter"]
        self.ask("command:", "", self._pasted, told=told, takes_lines=True)

    def _pasted(self, text: str) -> str | None:
        if not text.strip():
            return None
        wrong = self.try_draft(self.draft.begun_from(cmd=text))
        if wrong and "\n" in text and self.prompt is not None:
            self.prompt.put(sheet_choices.on_one_line(text))
        return "; ".join(wrong) or None

    def _from_found(self, name: str) -> None:
        try:
            found = self.fleet.server(name).found
        except K2Error as error:
            self.complain(str(error))
            return
        if found is None:
            self.complain(f"{name} is gone")
            return
        command, left_out = sheet_choices.command_of(found)
        if self.use(self.draft.begun_from(cmd=command)) and left_out:
            self.say(f"left out, because they are secrets: {', '.join(left_out)}; add them with their values")

    # ---- save

    def action_sheet_save(self) -> None:
        if self.fleet.settings.read_only:
            self.complain(f"not saved: {READ_ONLY}")
            return
        self.ask("save as profile:", "", self._named, told=["a name for [profiles.NAME] in the config"])

    def _named(self, text: str) -> str | None:
        name = text.strip()
        if not name:
            return None
        if not all(char.isalnum() or char in "._-" for char in name):
            return f"a profile's name has letters, digits and ._- only, found {name}"
        if name in self.fleet.settings.profiles and self._doubted != name:
            self._doubted = name
            return f"there is a profile {name} already. Press enter once more to write over it"
        self.call_later(self._ask_use, name)
        return None

    def _ask_use(self, name: str) -> None:
        choices = [
            ("use", "", "write and use it", f"{self.name_of_server} starts with {name} from now on"),
            ("write", "", "only write it", f"as [profiles.{name}]"),
        ]
        self._pick("Save the profile", choices, "write", lambda answer: self._save(name, answer == "use"))

    def _save(self, name: str, use: bool) -> None:
        self.run_worker(self._write(name, use), group="save", exit_on_error=False)

    async def _write(self, name: str, use: bool) -> None:
        try:
            path = await self.fleet.save_profile(self.name_of_server, self.change, as_name=name, use=use)
        except K2Error as error:
            self.complain(str(error))
        except Exception as error:  # a bug of ours must not take the sheet down
            self.complain(f"not saved: {type(error).__name__}: {error}")
        else:
            told = f"; {self.name_of_server} starts with it from now on" if use else ""
            self.say(f"saved as profile {name} in {path}{told}")
