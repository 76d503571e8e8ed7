"""Instances and agents: what there is, what it does, and its control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Union

from ._calls import Calls, quoted

if TYPE_CHECKING:
    from . import schemas

NODE = "/api/2.0/workbench/node"
AGENTS = "/api/x/agents"


class FleetMethods:
    """The part of `Hub` that deals with instances and agents."""

    _calls: Calls

    def instances(
        self,
        *,
        id: Optional[str] = None,
        version: Optional[str] = None,
        labels: Union[str, Sequence[str]] = (),
        status: Union[str, Sequence[str]] = (),
        working: Optional[bool] = None,
    ) -> List[schemas.WorkbenchInstance]:
        """Instances by id. `labels` asks for all of them, `status` for any; texts may hold the wildcards `*` and `?`."""
        query = {"id": id, "version": version, "working": working}
        lists = {"labels": _list(labels), "status": _list(status)}
        found: Any = self._calls.pages(f"{NODE}/instance/list", {**query, **lists})
        return list(found)

    def instance(self, instance_id: str) -> schemas.WorkbenchInstance:
        """One instance."""
        found: schemas.WorkbenchInstance = self._calls.json("GET", f"{NODE}/instance/{quoted(instance_id)}")
        return found

    def instance_log(self, instance_id: str, type: str = "console") -> str:
        """The latest log lines of an instance program; `type` is `stdout`, `stderr`, or `console` for both."""
        return self._calls.text("GET", f"{NODE}/instance/{quoted(instance_id)}/log/{quoted(type)}")

    def start_instance(self, instance_id: str) -> None:
        """Asks for the start of an instance; it takes effect in the background."""
        self._command(instance_id, "start")

    def stop_instance(self, instance_id: str) -> None:
        """Asks for the stop of an instance, which ends its task first."""
        self._command(instance_id, "stop")

    def restart_instance(self, instance_id: str) -> None:
        """Asks for the restart of an instance, which ends its task first."""
        self._command(instance_id, "restart")

    def agents(self) -> List[schemas.AgentState]:
        """Agents by id, with their drains."""
        found: Any = self._calls.pages(AGENTS, {})
        return list(found)

    def agent(self, agent_id: str) -> schemas.AgentState:
        """One agent, with its drain."""
        found: schemas.AgentState = self._calls.json("GET", f"{AGENTS}/{quoted(agent_id)}")
        return found

    def drain(self, agent_id: str) -> schemas.AgentState:
        """Lets an agent end its tasks and begin no new ones. Draining a drained agent changes nothing."""
        found: schemas.AgentState = self._calls.json(
            "POST", f"{AGENTS}/{quoted(agent_id)}/drain", is_repeatable=lambda: True
        )
        return found

    def undrain(self, agent_id: str) -> schemas.AgentState:
        """Lets a drained agent begin tasks again."""
        found: schemas.AgentState = self._calls.json(
            "POST", f"{AGENTS}/{quoted(agent_id)}/undrain", is_repeatable=lambda: True
        )
        return found

    def _command(self, instance_id: str, command: str) -> None:
        self._calls.done("PATCH", f"{NODE}/instance/{quoted(instance_id)}/{command}")


def _list(values: Union[str, Sequence[str]]) -> List[str]:
    return [values] if isinstance(values, str) else list(values)
