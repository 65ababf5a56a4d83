# What schemathesis is told besides the document: the values of formats that are nobody's to make up, things that exist, and which
# refusals of an allowed request no schema can foresee.

import json
import os
import re

import schemathesis
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

# Opaque, or written in a form of our own.
schemathesis.openapi.format("page-token", st.just(""))
schemathesis.openapi.format("repo-tags", st.sampled_from(["nginx", "nginx:latest", "nginx:1,2"]))
schemathesis.openapi.format("field-mask", st.just(""))
schemathesis.openapi.format("json", st.just("{}"))

# Uids of things that exist, by path: otherwise nearly all that is asked were missing.
existing = json.loads(os.environ.get("GANTRY_EXISTING", "{}"))


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    operation = context.operation
    # What is deleted is missing from then on.
    if operation is None or not path_parameters or operation.method.upper() == "DELETE":
        return path_parameters
    uid = existing.get(f"{operation.method.upper()} {operation.path}")
    return path_parameters if uid is None else {**path_parameters, **uid}


# What the contract alone refuses (contract/read.ts, server/kernel/field-behavior.ts): every such sentence is a rule that the document must
# have. Whatever else refuses is a rule between fields, or between a request and what is stored, which no schema can say.
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

# The same words of a resource's own rule: what is needed depends on another field, or on what is there. Of a role binding they have the
# names of version 1, too.
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
    """An allowed request is carried out, or refused for rights, for the state of things, or by a rule that no schema can say."""
    if response.status_code != 400 or "/oauth" in case.operation.path:
        return
    if case.meta is not None and case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    body = response.json()
    # FAILED_PRECONDITION: the request is right, and something stands in its way.
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
    """No request makes the server fail. That it cannot answer now (503, 504) is said of the machine; 501 is where the operation has it."""
    if response.status_code < 500 or response.status_code in (503, 504):
        return
    if response.status_code == 501 and "501" in case.operation.definition.raw.get("responses", {}):
        return
    raise AssertionError(f"the server fails with {response.status_code}")
