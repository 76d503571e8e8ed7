"""The hub itself: health, build, logs, audit log, shutdown, and personal tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional

from ._calls import Calls, quoted

if TYPE_CHECKING:
    from . import schemas

SHUTDOWN = "/api/2.0/admin/prepare-shutdown"


class ServiceMethods:
    """The part of `Hub` that deals with the hub itself."""

    _calls: Calls

    def health(self) -> schemas.Health:
        """Health of the hub, its disk and its instances."""
        found: schemas.Health = self._calls.json("GET", "/actuator/health")
        return found

    def info(self) -> schemas.Info:
        """Name, version and build of the hub."""
        found: schemas.Info = self._calls.json("GET", "/actuator/info")
        return found

    def user(self) -> str:
        """Name of the user whose token is used; `anonymous` while security is off."""
        return str(self._calls.json("GET", "/api/2.0/user")["username"])

    def server_info(self) -> schemas.ServerInfo:
        """Machine and runtime of the hub, for the role ADMIN."""
        found: schemas.ServerInfo = self._calls.json("GET", "/api/2.0/monitoring/server-info")
        return found

    def hubs(self) -> List[schemas.HubState]:
        """Hubs of the cluster by id; a hub that has its store alone is the only one."""
        found: Any = self._calls.pages("/api/x/hubs", {})
        return list(found)

    def upstreams(self) -> List[schemas.UpstreamState]:
        """Hubs to which this one lends instances, in the order of its configuration."""
        found: Any = self._calls.pages("/api/x/upstreams", {}, key="name")
        return list(found)

    def host_recipes(self) -> List[schemas.HostRecipe]:
        """Recipes of hosts that workload managers bring, with their allocations, in the order of the configuration."""
        found: Any = self._calls.pages("/api/x/hosts", {}, key="name")
        return list(found)

    def host_hours(self, months: int = 12) -> List[schemas.HostHoursContentItem]:
        """Host-hours of each recipe by month, the latest month first."""
        found: Any = self._calls.json("GET", "/api/x/hosts/hours", query={"months": months})
        return list(found["content"])

    def pause_hosts(self, recipe: str) -> None:
        """Brings no more hosts by a recipe; those that are there stay. For the role ADMIN."""
        self._change_hosts(recipe, "pause")

    def resume_hosts(self, recipe: str) -> None:
        """Brings hosts by a recipe again. For the role ADMIN."""
        self._change_hosts(recipe, "resume")

    def drain_hosts(self, recipe: str) -> None:
        """Gives all present hosts of a recipe back, each when no task runs there. For the role ADMIN."""
        self._change_hosts(recipe, "drain")

    def _change_hosts(self, recipe: str, action: str) -> None:
        self._calls.done("POST", f"/api/x/hosts/{quoted(recipe)}/{action}", is_repeatable=lambda: True)

    def rollout(self) -> schemas.Rollout:
        """Rollout of the version of the hub to its agents. For the role ADMIN."""
        found: schemas.Rollout = self._calls.json("GET", "/api/x/rollout")
        return found

    def stop_rollout(self) -> schemas.Rollout:
        """Orders no more agents to update until the rollout is resumed. For the role ADMIN."""
        return self._change_rollout("stop")

    def resume_rollout(self) -> schemas.Rollout:
        """Goes on with the rollout, past the agents that have failed until now. For the role ADMIN."""
        return self._change_rollout("resume")

    def _change_rollout(self, action: str) -> schemas.Rollout:
        found: schemas.Rollout = self._calls.json("POST", f"/api/x/rollout/{action}", is_repeatable=lambda: True)
        return found

    def metrics(self) -> str:
        """Metrics in the Prometheus text format, for the role ADMIN."""
        return self._calls.text("GET", "/actuator/prometheus")

    def hub_log(self) -> str:
        """The log file of the hub, for the role ADMIN."""
        return self._calls.text("GET", "/actuator/logfile")

    def openapi(self) -> Any:
        """The OpenAPI document of the hub."""
        return self._calls.json("GET", "/openapi.json")

    def shutdown_preparation(self) -> schemas.ShutdownStatus:
        """Whether a shutdown is prepared, while which the hub accepts no tasks."""
        found: schemas.ShutdownStatus = self._calls.json("GET", SHUTDOWN)
        return found

    def prepare_shutdown(self, initiated: bool = True, *, cluster: bool = False) -> schemas.ShutdownStatus:
        """Prepares a shutdown of the hub, or of all hubs of its cluster; with False, takes that back. At the public address of a
        cluster it is always that of all. For the role ADMIN."""
        scope = "?scope=cluster" if cluster else ""
        found: schemas.ShutdownStatus = self._calls.json(
            "POST", f"{SHUTDOWN}/change{scope}", document={"initiated": initiated}, is_repeatable=lambda: True
        )
        return found

    def audit(
        self,
        *,
        limit: int = 100,
        before: Optional[str] = None,
        user: Optional[str] = None,
        action: Optional[str] = None,
        outcome: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
    ) -> schemas.AuditPage:
        """Entries of the audit log, newest first, for the role ADMIN.

        `since` and `until` are times with an offset. `before` continues after an earlier page by its `next`.
        """
        query = {
            **{"limit": limit, "before": before, "user": user, "action": action, "outcome": outcome},
            **{"from": since, "to": until},
        }
        found: schemas.AuditPage = self._calls.json("GET", "/api/x/audit", query=query)
        return found


class Tokens:
    """Personal tokens, which let scripts act for their user."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def create(
        self, name: str, *, expires_in_days: Optional[int] = None, role: Optional[str] = None
    ) -> schemas.CreatedPersonalToken:
        """Creates a token, which is shown only once. The user must have logged in by password."""
        document = {"name": name, "expiresInDays": expires_in_days, "role": role}
        given = {key: value for key, value in document.items() if value is not None}
        found: schemas.CreatedPersonalToken = self._calls.json("POST", "/api/x/tokens", document=given)
        return found

    def list(self, *, user: Optional[str] = None) -> List[schemas.PersonalToken]:
        """Tokens that have not expired, newest first; those of another user for the role ADMIN."""
        found: Any = self._calls.pages("/api/x/tokens", {"user": user})
        return [each for each in found]

    def revoke(self, token_id: str) -> None:
        """Makes a token invalid at once."""
        self._calls.done("DELETE", f"/api/x/tokens/{quoted(token_id)}")
