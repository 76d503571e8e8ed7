"""A hub with login, roles, and the certificate of a private authority; its access tokens are valid for one second."""

from __future__ import annotations

import unittest

from workbench_hub import Forbidden, Hub, Locked, Unauthenticated, UsageError, WaitTimeout

from .site import PASSWORD, eventually, secure_hub, setting


class Secure(unittest.TestCase):
    def test_a_session_outlives_its_tokens_and_ends_with_the_block(self) -> None:
        with secure_hub("anna") as hub:
            self.assertEqual(hub.user(), "anna")
            first = hub._access._token
            eventually(lambda: hub.user() == "anna" and hub._access._token != first)
            second = hub._access._token
            cookie = hub._access._cookie  # type: ignore[attr-defined]
            self.assertTrue(cookie)
        after = Hub(hub.url, token=second, ca_file=setting("WB_TEST_CA_FILE"))
        self.assertRaises(Unauthenticated, after.user)

    def test_a_wait_outlives_the_token_that_began_it(self) -> None:
        with secure_hub("anna") as hub:
            task = hub.submit(script=b"1")
            first = hub._access._token
            self.assertRaises(WaitTimeout, hub.wait, task, timeout=4)
            self.assertEqual(hub.task(task)["creator"], "anna")
            self.assertNotEqual(hub._access._token, first)
            hub.cancel(task)

    def test_personal_tokens_are_created_used_listed_and_revoked(self) -> None:
        ca_file = setting("WB_TEST_CA_FILE")
        with secure_hub("anna") as hub:
            created = hub.tokens.create("nightly", expires_in_days=1, role="VIEWER")
            scripted = Hub(hub.url, token=created["token"], ca_file=ca_file)
            self.assertEqual(scripted.user(), "anna")
            self.assertRaises(Forbidden, scripted.submit, script=b"1")
            self.assertEqual([each["name"] for each in hub.tokens.list()], ["nightly"])
            hub.tokens.revoke(created["id"])
            self.assertRaises(Unauthenticated, scripted.user)

    def test_wrong_passwords_and_unknown_authorities_are_refused(self) -> None:
        url, ca_file = setting("WB_TEST_SECURE_URL"), setting("WB_TEST_CA_FILE")
        self.assertRaises(Unauthenticated, Hub(url, user="anna", password="x" * 8, ca_file=ca_file).user)
        with self.assertRaisesRegex(UsageError, "is not trusted.*ca_file"):
            Hub(url, user="anna", password=PASSWORD).user()
        with self.assertRaisesRegex(UsageError, "cannot be read"):
            Hub(url, ca_file=ca_file + ".none")

    def test_administrators_see_the_hub_and_prepare_its_shutdown(self) -> None:
        with secure_hub("anna") as anna, secure_hub("root") as root:
            self.assertRaises(Forbidden, anna.metrics)
            self.assertIn("# TYPE", root.metrics())
            self.assertTrue(root.server_info()["systemInfo"]["version"])
            self.assertTrue(root.hub_log())
            self.assertTrue(root.audit(limit=5, user="anna")["entries"])
            self.assertTrue(root.prepare_shutdown()["initiated"])
            self.assertRaises(Locked, anna.submit, script=b"1")
            self.assertTrue(anna.shutdown_preparation()["initiated"])
            root.prepare_shutdown(False)
