"""What JSON Schema cannot say of a right request: what is signed, what the release holds, what stands together.

Read by Schemathesis (SCHEMATHESIS_HOOKS=right_requests, in this folder). Requests that are wrong on purpose stay as they are.
"""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive or not case.query:
        return
    query = case.query
    # Cursors are signed: only what a page before gave is one.
    query.pop("cursor", None)
    # A month that the release does not hold is refused with those that it holds.
    if query.get("reference_period", "all") != "all":
        query.pop("reference_period")
    # radius_km goes with near alone.
    if "near" not in query:
        query.pop("radius_km", None)
    # The first corner is the south-western one.
    if "bbox" in query:
        west, south, east, north = (float(part) for part in listed(query["bbox"]))
        corners = min(west, east), min(south, north), max(west, east), max(south, north)
        query["bbox"] = ",".join(str(part) for part in corners)
    # Each field orders once, whichever way.
    if "sort" in query:
        fields = {term.lstrip("-"): term for term in listed(query["sort"])}
        query["sort"] = ",".join(fields.values())


def listed(value):
    return value.split(",") if isinstance(value, str) else value
