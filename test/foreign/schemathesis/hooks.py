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


# Rules between fields, and between a request and what is stored. Each with the sentence that refuses.
rules = [
    r"must be an https URL",
    r"must be an e-mail address",
    r"must be the uid of a repo that you may read",
    r"is none of the documents that can be accepted here",
    r"is not a mapping of the batch's parent",
    r"is no item of this request group",
    r"exactly one of .* (?:must be given|is needed)",
    r"clientSecret or pkceEnabled is needed",
    r"subject or subjectPattern is required",
    r"must be in the future",
    r"must not be before start_time",
    r"holds control characters",
    r"was used for another request; take a new key",
    r"ttl must be more than 0s",
    r"ttl must be at most",
    r"must be the organization of the identity provider",
    r"image_refs\[\d+\]\.repo: repo is required",
    r"at least one capability is required",
    r"(?:identityUid|roleUid|scope) is required",
    r"differs from the batch's parent",
    r"onboardingQuestions is required",
    r"readme nests or repeats more than can be judged",
    r"cannot be given together with",
    r"only one of .* can be given",
    # Of OSV's own protocol: what it takes besides a package, and which of them go together.
    r"^(?:Query at index \d+: )?Invalid (?:query|batch|ecosystem)",
    r"reference must name the image of the digest",
    r"must be sha256: and 64 hex characters",
    # Of reports, which version 1 alone has: one of several parameters.
    r"^(?:Invalid argument: )?(?:digest|repo): must be given",
    r"^(?:Invalid argument: )?digest: digest must match",
    r"^(?:Invalid argument: )?ecosystems: has no value that is known here",
]
known = re.compile("|".join(rules))


@schemathesis.check
def valid_request_is_taken(ctx, response, case):
    """An allowed request is carried out, or refused for the state of things, for rights, or by a rule between fields."""
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
    unknown = [each for each in described if not known.search(each)]
    if unknown:
        raise AssertionError(f"refused, though the document allows it: {'; '.join(unknown)}")
