"""The client against a real server over the small demonstration, which SUS_DATA_URL, SUS_DATA_KEY and SUS_DATA_OTHER_RELEASE name.

Run by test/clients/python.exhaustive.test.ts, which starts the server.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import io
import json
import os
import tempfile
import threading
import unittest
from decimal import Decimal
from pathlib import Path

from sus_data import NotWhole, Problem, SusData, connect, read_report, verify_release

URL = os.environ["SUS_DATA_URL"]
KEY = os.environ["SUS_DATA_KEY"]
SIGNING_KEY = os.environ["SUS_DATA_SIGNING_KEY"]
OLDER = os.environ["SUS_DATA_OLDER_RELEASE"]
BEDS = ["bed_capacity_existing", "beds_existing_per_100k"]


class Answers(unittest.TestCase):
    def setUp(self) -> None:
        self.sus = connect(URL, KEY)
        self.addCleanup(self.sus.close)
        self.release = self.sus.release()

    def test_a_release_is_pinned(self) -> None:
        self.assertIn(self.release.id, [one["release_id"] for one in self.sus.releases()])
        older = self.sus.release(OLDER)
        self.assertEqual(older.query(["bed_capacity_existing"]).release_id, OLDER)
        self.assertEqual(older.manifest()["release_id"], OLDER)
        absent = self.sus.release(f"{OLDER[:-1]}{'0' if OLDER[-1] != '0' else '1'}")
        with self.assertRaises(Problem) as caught:
            absent.query(["bed_capacity_existing"])
        self.assertEqual((caught.exception.status, caught.exception.code), (409, "release_mismatch"))

    def test_a_list_is_walked_to_its_end(self) -> None:
        rows = list(self.release.rows("bed-capacity", uf="RR", has_sus_capacity=True, limit=7))
        total = self.release.get("bed-capacity", uf="RR", has_sus_capacity=True, limit=1, count=True)["pagination"]["total"]
        self.assertEqual(len(rows), total)
        self.assertEqual(len({(row["cnes_code"], row["bed_type_code"]) for row in rows}), total)
        beds = self.release.query("bed_capacity_sus", filters={"state": "RR"}).rows[0]["bed_capacity_sus"]
        self.assertEqual(sum(row["beds_sus"] for row in rows), beds)
        again = self.release.rows("bed-capacity", uf="RR", limit=50)
        self.assertEqual(len(list(again)), len(list(again)), "each walk begins anew")

    def test_all_rows_of_a_question(self) -> None:
        whole = self.release.query(BEDS, "municipality", order_by="-bed_capacity_existing", totals=[[]])
        self.assertEqual(len(whole), whole.meta.get("row_count", len(whole)))
        self.assertGreater(len(whole), 5500)
        self.assertEqual(sum(row["bed_capacity_existing"] for row in whole), whole.totals[()][0]["bed_capacity_existing"])
        self.assertEqual(len(self.release.query(BEDS, "municipality", limit=3)), 3)
        rate = self.release.query(BEDS, "state", {"state": ["RR"]}).rows[0]["beds_existing_per_100k"]
        self.assertIsInstance(rate, Decimal)
        self.assertRegex(whole.fingerprint, "^[0-9a-f]{64}$")
        self.assertIn(whole.fingerprint, whole.citation["abnt"])
        whole.check()
        changed = type(whole)(whole.question, [], [], {**whole.meta, "release_id": OLDER})
        with self.assertRaises(NotWhole):
            changed.check()

    def test_what_is_wrong_is_said(self) -> None:
        with self.assertRaises(Problem) as caught:
            self.release.query(["beds_of_nobody"])
        self.assertEqual(caught.exception.code, "unknown_metric")
        self.assertIn("beds_sus_share", caught.exception.errors[0]["allowed"])
        with self.assertRaises(Problem) as caught:
            connect(URL, "sus_wrong").releases()
        self.assertEqual(caught.exception.status, 401)
        with self.assertRaises(ValueError):
            connect("127.0.0.1:1", KEY)

    def test_the_records_behind_a_number_add_up_to_it(self) -> None:
        beds = self.release.query("bed_capacity_existing", "state", {"state": ["RR"]}).rows[0]["bed_capacity_existing"]
        records = list(self.release.lineage("bed_capacity_existing", {"state": "RR"}))
        self.assertEqual(sum(record.value for record in records), beds)
        self.assertTrue(all(record.sources[0]["sha256"] and record.sources[0]["row"] > 1 for record in records))
        halves = {
            side: sum(record.value for record in self.release.lineage("beds_existing_per_100k", {"state": "RR"}, side=side))
            for side in ("numerator", "denominator")
        }
        self.assertEqual(halves["numerator"], beds)
        self.assertGreater(halves["denominator"], 500_000)

    def test_two_releases(self) -> None:
        changed = self.release.compare(OLDER, ["bed_capacity_existing"], ["state"], {"state": ["AC", "AP", "RR"]})
        self.assertGreater(len(changed), 0)
        self.assertEqual(changed[0], list(changed)[0])
        self.assertIs(changed.same_content, False)
        itself = self.release.compare(self.release, ["bed_capacity_existing"], ["state"])
        self.assertEqual(len(itself), 0)
        self.assertIs(itself.same_content, True)

    def test_members_catalog_and_explain(self) -> None:
        self.assertEqual(len(list(self.release.members("state"))), 27)
        members = [row["code"] for row in self.release.members("municipality")]
        total = self.release.get("analytics/dimensions/municipality/values")["pagination"]["total"]
        self.assertGreater(total, 50)
        self.assertEqual((len(members), len(set(members))), (total, total))
        self.assertEqual([row["code"] for row in self.release.members("municipality", limit=100, offset=60)], members[60:])
        self.assertIn("bed_capacity_sus", [metric["code"] for metric in self.release.catalog()["metrics"]])
        self.assertIn("SELECT", json.dumps(self.release.explain(BEDS, "state")))

    def test_frames(self) -> None:
        answer = self.release.query(["bed_capacity_existing", "beds_existing_per_100k", "population_census"], "municipality")
        self.assertIn(None, [row["population_census"] for row in answer], "a municipality younger than the census")
        facilities = self.release.rows("facilities", uf="RR", limit=250)
        for make in ("to_pandas", "to_polars", "to_arrow"):
            try:
                frame = getattr(answer, make)()
                listed = getattr(facilities, make)()
            except ImportError as error:
                print(f"skipped: {make}, {error}")
                continue
            self.assertEqual(len(frame), len(answer))
            column = frame["bed_capacity_existing"]
            values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
            self.assertEqual([int(value) for value in values], [row["bed_capacity_existing"] for row in answer])
            self.assertEqual(len(listed), len(list(facilities)))


class Verification(unittest.TestCase):
    def setUp(self) -> None:
        self.sus = connect(URL, KEY)
        self.addCleanup(self.sus.close)
        self.release = self.sus.release()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_reports_of_every_format_are_written_whole(self) -> None:
        for suffix in ("csv", "xlsx", "parquet", "arrow", "json"):
            path = self.release.report(self.folder / f"beds.{suffix}", BEDS, "state", title="Leitos")
            self.assertGreater(path.stat().st_size, 500)
        with self.assertRaises(ValueError):
            self.release.report(self.folder / "beds.doc", BEDS)

    def test_the_example_of_its_page(self) -> None:
        page = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
        example = page.split("```python\n")[1].split("```")[0]
        said = io.StringIO()
        os.environ.update(API_URL=URL, API_KEY=KEY)
        try:
            with contextlib.chdir(self.folder), contextlib.redirect_stdout(said):
                exec(compile(example, "README.md", "exec"), {})
        except ImportError as error:
            print(f"skipped: {error}")
            return
        self.assertIn("rlEstabComplementar", said.getvalue())
        self.assertIn("'rows_sha256', 'fingerprint', 'signature', 'replay'", said.getvalue())

    def test_a_report_is_verified_and_replayed(self) -> None:
        for suffix in ("csv", "xlsx"):
            path = self.release.report(self.folder / f"beds.{suffix}", BEDS, ["state", "bed_category"], totals=[["state"], []])
            try:
                verdict = read_report(path).verify(SIGNING_KEY)
            except ImportError as error:
                print(f"skipped: {error}")
                return
            self.assertEqual(verdict.problems, [])
            self.assertEqual(verdict.signed_by, SIGNING_KEY)
            self.assertIn("replay", self.sus.replay(path).require().checked)
            self.assertFalse(read_report(path).verify("b3RoZXIga2V5").is_whole)
            log_key = self.sus.verifier_key()
            self.assertIn("log_proof", read_report(path).verify(SIGNING_KEY, log_key).require().checked)
            with self.assertRaises(ValueError):
                read_report(path).verify(log_key=f"other{log_key}")

    def test_one_digit_is_seen(self) -> None:
        path = self.release.report(self.folder / "beds.csv", BEDS, "state", {"state": ["RR", "AC"]})
        data = path.read_bytes()
        manifest, header, first, *others = data.split(b"\n")
        self.assertIn(b"2561", first)
        path.write_bytes(b"\n".join([manifest, header, first.replace(b"2561", b"2562"), *others]))
        problems = " ".join(read_report(path).verify().problems)
        self.assertIn("rows_sha256", problems)
        self.assertIn("table_sha256", problems)
        path.write_bytes(data.replace(b'"row_count":2', b'"row_count":3', 1))
        self.assertIn("manifest_sha256", " ".join(read_report(path).verify().problems))
        path.write_text("state_code,beds\nAC,1\n")
        with self.assertRaises(NotWhole):
            read_report(path)

    def test_a_copy_says_who_vouches_for_it(self) -> None:
        home = self.release.download(self.folder)
        verifier = self.sus.verifier_key()
        self.assertEqual(self.sus.signing_key(), SIGNING_KEY)
        try:
            verify_release(home, verifier)
        except ImportError as error:
            print(f"skipped: {error}")
            return
        name, key_id, key = verifier.split("+", 2)
        with self.assertRaises(ValueError):
            verify_release(home, f"other+{key_id}+{key}")
        note = home / "manifest.sig"
        text = note.read_text("utf-8")
        place = text.index(f"— {name} ") + len(name) + 20
        other = "A" if text[place] != "A" else "B"
        for changed in (
            text[:place] + other + text[place + 1 :],
            text.replace(self.release.id, OLDER),
            text.replace(f"— {name} ", "— nobody "),
        ):
            note.write_text(changed, "utf-8")
            with self.assertRaises(NotWhole):
                verify_release(home, verifier)
        note.unlink()
        with self.assertRaises(NotWhole):
            verify_release(home, verifier)
        verify_release(home)
        note.write_text(text, "utf-8")
        proof = home / "log.tlog-proof"
        logged = proof.read_text("utf-8")
        entry = json.loads(base64.b64decode(logged.split("\n")[1].removeprefix("extra ")))
        self.assertEqual((entry["kind"], entry["release_id"]), ("release", self.release.id))
        redated = base64.b64encode(json.dumps({**entry, "time": "2020-01-01T00:00:00.000Z"}, separators=(",", ":")).encode())
        lines = logged.split("\n")
        others = [one for one in self.folder.iterdir() if one != home]
        for altered in (
            "\n".join([lines[0], f"extra {redated.decode()}", *lines[2:]]),
            "\n".join([*lines[:2], "index 0", *lines[3:]]),
            "\n".join([*lines[:3], *lines[4:]]),
            "\n".join([*lines[:3], "AAAA", *lines[4:]]),
            logged[: logged.rindex("—")],
            (others[0] / "log.tlog-proof").read_text("utf-8"),
            "",
        ):
            proof.write_text(altered, "utf-8")
            with self.assertRaises(NotWhole):
                verify_release(home, verifier)
        proof.write_text(logged, "utf-8")
        verify_release(home, verifier)
        proof.unlink()
        with self.assertRaises(NotWhole):
            verify_release(home, verifier)

    def test_a_copy_of_a_release_is_checked_by_its_name(self) -> None:
        home = self.release.download(self.folder)
        manifest = verify_release(home)
        self.assertEqual(manifest["release_id"], self.release.id)
        self.assertEqual(len(list(self.folder.iterdir())), 1 + len([one for one in manifest["components"].values() if one]))
        file = home / manifest["files"][0]["path"]
        data = bytearray(file.read_bytes())
        data[100] ^= 1
        file.write_bytes(data)
        with self.assertRaises(NotWhole):
            verify_release(home)
        self.release.download(self.folder)
        verify_release(home)


class Waiting(unittest.TestCase):
    """What is asked again, and what is not. A server cannot be made to be busy at will, so a small one that refuses takes its place."""

    def serve(self, statuses: list[tuple[int, dict[str, str]]]) -> tuple[str, list[str]]:
        asked: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                asked.append(self.path)
                status, headers = statuses[min(len(asked), len(statuses)) - 1]
                body = {"data": [], "pagination": {"has_more": False}, "meta": {}, "code": "said", "detail": "no"}
                data = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}", asked

    def test_a_rate_that_is_used_up_is_waited_for(self) -> None:
        # Sixty requests a minute, of which a query counts five.
        release = connect(URL, os.environ["SUS_DATA_SLOW_KEY"]).release()
        for _ in range(14):
            self.assertEqual(len(release.query("bed_capacity_existing")), 1)

    def test_a_busy_server_is_waited_for(self) -> None:
        url, asked = self.serve([(503, {"retry-after": "0"}), (200, {})])
        self.assertEqual(SusData(url).release("a").query(["m"]).rows, [])
        self.assertEqual(len(asked), 2)

    def test_a_refusal_that_does_not_is_final(self) -> None:
        for status in (400, 503, 504):
            url, asked = self.serve([(status, {})])
            with self.assertRaises(Problem):
                SusData(url).release("a").query(["m"])
            self.assertEqual(len(asked), 1)

    def test_it_gives_up(self) -> None:
        url, asked = self.serve([(429, {"retry-after": "0"})])
        with self.assertRaises(Problem) as caught:
            SusData(url, retries=2).release("a").query(["m"])
        self.assertEqual((caught.exception.status, len(asked)), (429, 3))


if __name__ == "__main__":
    unittest.main()
