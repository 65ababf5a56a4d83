# Extends schemathesis beyond the document: values of opaque formats, existing resources, and errors of allowed requests that no schema
# can express.

import json
import os
import re

import schemathesis
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

# Opaque, or in our own format.
schemathesis.openapi.format("page-token", st.just(""))
schemathesis.openapi.format("repo-tags", st.sampled_from(["nginx", "nginx:latest", "nginx:1,2"]))
schemathesis.openapi.format("field-mask", st.just(""))
schemathesis.openapi.format("json", st.just("{}"))

# Uids of existing resources, by path; random ones would nearly always be missing.
existing = json.loads(os.environ.get("GANTRY_EXISTING", "{}"))


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    operation = context.operation
    # A delete would remove the resource for later requests.
    if operation is None or not path_parameters or operation.method.upper() == "DELETE":
        return path_parameters
    uid = existing.get(f"{operation.method.upper()} {operation.path}")
    return path_parameters if uid is None else {**path_parameters, **uid}


# Errors of the contract alone (contract/read.ts, server/kernel/field-behavior.ts), whose rules the document must contain. Other errors
# concern several fields or stored data, which no schema can express.
formal = re.compile(
    "|".join(
        [
            r"unknown (?:field|query parameter)",
            r" is required$",
            r"must match \"",
            r"must be a uid",
            r"must have at (?:most|least) ",
            r"must be between ",
            r"must be (?:a string|true or false|a number|a whole number|base64 text|a list|an object|a time|a duration)",
            r"is not a known value",
            r"must not be negative",
            r"cannot order by",
        ]
    )
)

# The same sentences from a resource's own rule, which depends on another field or stored data. For role bindings, version 1 names too.
own = re.compile(
    "|".join(
        [
            r"\b(?:identityUid|identity|roleUid|role|scope|roleBindings|onboardingQuestions|repo) is required$",
            r"at least one capability is required$",
            r"^Invalid batch: queries must be a list",
        ]
    )
)


@schemathesis.check
def valid_request_is_taken(ctx, response, case):
    """An allowed request succeeds, or fails by permissions, stored data, or a rule that no schema can express."""
    if response.status_code != 400 or "/oauth" in case.operation.path:
        return
    if case.meta is not None and case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    body = response.json()
    # FAILED_PRECONDITION: the request is valid, but the state does not allow it.
    if body.get("code") != 3:
        return
    described = [
        f"{each['field']}: {each['description']}"
        for detail in body.get("details", [])
        for each in detail.get("fieldViolations", [])
    ] or [body.get("message", "")]
    unsaid = [each for each in described if formal.search(each) and not own.search(each)]
    if unsaid:
        raise AssertionError(f"refused, though the document allows it: {'; '.join(unsaid)}")


@schemathesis.check
def no_fault_of_the_server(ctx, response, case):
    """No request causes a server error. 503 and 504 come from a slow machine; 501 is allowed if documented."""
    if response.status_code < 500 or response.status_code in (503, 504):
        return
    if response.status_code == 501 and "501" in case.operation.definition.raw.get("responses", {}):
        return
    raise AssertionError(f"the server fails with {response.status_code}")
