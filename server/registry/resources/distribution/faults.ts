// Errors of the registry, with the protocol's codes (oci: 2).

import { Fault, type Violation } from "#base/fault.ts";
import type { RegistryAction } from "#base/registry-access.ts";

const withCode = (
  code: Fault["code"],
  reason: string,
  message: string,
  more: { readonly httpStatus?: number; readonly headers?: Record<string, string> } = {},
) => new Fault(code, message, { details: [{ kind: "reason", reason }], ...more });

export const nameUnknown = (hint = ""): Fault => withCode("NOT_FOUND", "NAME_UNKNOWN", `repository not found${hint}`);

/** The registry token does not include the list of repositories. */
export const catalogScopeMissing = (): Fault =>
  withCode("UNAUTHENTICATED", "INSUFFICIENT_SCOPE", "the registry token does not permit the list of repositories. Request a token with the challenge's scope");

/** Hidden and absent repositories give the same error. */
export const lastUnknown = (): Fault =>
  withCode("INVALID_ARGUMENT", "NAME_UNKNOWN", "last is no repository of the list: follow the Link header, or start again without last");

/** The registry token lacks this permission; the transport returns a challenge for the scope (transport/oci). */
export const insufficientScope = (action: RegistryAction): Fault =>
  withCode(
    "UNAUTHENTICATED",
    "INSUFFICIENT_SCOPE",
    `the registry token does not permit ${action} in this repository. Request a token with the challenge's scope`,
  );

export const nameInvalid = (why: string): Fault => withCode("INVALID_ARGUMENT", "NAME_INVALID", `the repository's name ${why}`);

export const digestInvalid = (why: string): Fault => withCode("INVALID_ARGUMENT", "DIGEST_INVALID", `the digest ${why}`);

export const tagInvalid = (): Fault => withCode("INVALID_ARGUMENT", "TAG_INVALID", "a tag has 1 to 128 letters, digits, dots, dashes and underscores");

export const manifestUnknown = (): Fault => withCode("NOT_FOUND", "MANIFEST_UNKNOWN", "manifest not found");

export const manifestInvalid = (why: string, httpStatus?: number): Fault =>
  withCode("INVALID_ARGUMENT", "MANIFEST_INVALID", `the manifest ${why}`, httpStatus === undefined ? {} : { httpStatus });

/** One entry per missing blob. */
export const blobsUnknown = (digests: readonly string[]): Fault => {
  const violations = digests.map((digest): Violation => ({ field: digest, description: `the repository has no blob ${digest}` }));
  return new Fault("INVALID_ARGUMENT", "the manifest references blobs that the repository does not have", {
    details: [
      { kind: "reason", reason: "MANIFEST_BLOB_UNKNOWN" },
      { kind: "fields", violations },
    ],
  });
};

export const blobUnknown = (): Fault => withCode("NOT_FOUND", "BLOB_UNKNOWN", "blob not found");

export const blobNeeded = (): Fault => withCode("FAILED_PRECONDITION", "DENIED", "manifests of the repository need this blob: delete them first");

export const uploadUnknown = (): Fault => withCode("NOT_FOUND", "BLOB_UPLOAD_UNKNOWN", "upload not found");

export const uploadHeld = (): Fault =>
  withCode("ABORTED", "BLOB_UPLOAD_INVALID", "another request is appending to this upload", { headers: { "retry-after": "1" } });

export const sizeInvalid = (announced: number, received: number): Fault =>
  withCode("INVALID_ARGUMENT", "SIZE_INVALID", `Content-Range is ${announced} bytes, but ${received} were received`);

export const rangeInvalid = (why: string): Fault => withCode("INVALID_ARGUMENT", "BLOB_UPLOAD_INVALID", `Content-Range ${why}`);

/** For bytes at a wrong offset; the Range header has the current size. */
export const outOfOrder = (sizeBytes: number): Fault =>
  withCode("OUT_OF_RANGE", "RANGE_INVALID", `the next byte is number ${sizeBytes}`, {
    httpStatus: 416,
    headers: { range: `0-${Math.max(sizeBytes - 1, 0)}` },
  });

export const unsatisfiable = (sizeBytes: number): Fault =>
  withCode("OUT_OF_RANGE", "RANGE_INVALID", `the blob has ${sizeBytes} bytes`, { httpStatus: 416, headers: { "content-range": `bytes */${sizeBytes}` } });

export const pageInvalid = (): Fault => withCode("INVALID_ARGUMENT", "PAGINATION_NUMBER_INVALID", "n must be a number of names");

export const tooManyTags = (max: number): Fault => withCode("INVALID_ARGUMENT", "TAG_INVALID", `one push names at most ${max} tags`, { httpStatus: 414 });
