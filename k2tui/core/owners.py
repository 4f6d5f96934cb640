"""Who holds a GPU: its processes, their users, and the Server they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.foreign.owner import owner_of
from k2tui.core.found import NodeProcess
from k2tui.core.gpu_words import processes_on
from k2tui.core.readings import GpuProcess, GpuReading
from k2tui.core.views import NodeView, ServerView


@dataclass(frozen=True, slots=True)
class Holder:
    """One process that holds memory of a GPU."""

    held: GpuProcess
    process: NodeProcess | None
    """What the node says of it; None where its pid is another namespace's, or nobody has looked yet."""
    server: str | None
    """The Server that it belongs to."""


class Owners:
    """Whose the GPUs of one node are; made once for many of them."""

    def __init__(self, node: NodeView, servers: Sequence[ServerView]) -> None:
        self._node = node
        self._mine = [server for server in servers if server.settings.node == node.settings.name]
        self._by_pid = {process.pid: process for process in node.processes}
        self._holders: dict[str, tuple[Holder, ...]] = {}

    def holders(self, gpu: GpuReading) -> tuple[Holder, ...]:
        """The processes that hold memory of this GPU, the largest first."""
        found = self._holders.get(gpu.uuid)
        if found is None:
            found = tuple(self._holder(held) for held in processes_on(self._node.reading, gpu))
            self._holders[gpu.uuid] = found
        return found

    def servers_on(self, gpu: GpuReading) -> tuple[str, ...]:
        """The servers that use this GPU: by its processes, and by what running servers were given."""
        names = [holder.server for holder in self.holders(gpu) if holder.server is not None]
        names += [server.settings.name for server in self._mine if gpu.index in _gpus_of(server)]
        return tuple(dict.fromkeys(names))

    def users(self, gpu: GpuReading) -> tuple[str, ...]:
        """The users whose processes hold this GPU, as far as they are known."""
        found = [holder.process.user for holder in self.holders(gpu) if holder.process is not None]
        return tuple(dict.fromkeys(found))

    def _holder(self, held: GpuProcess) -> Holder:
        process = self._by_pid.get(held.pid)
        server = None if process is None else owner_of(process, self._node.processes, self._mine)
        return Holder(held, process, server)


def _gpus_of(server: ServerView) -> tuple[int, ...]:
    if server.found is not None:
        return server.found.gpus
    if server.run is None or not server.run.alive:
        return ()
    return server.run.gpus or server.settings.gpus
