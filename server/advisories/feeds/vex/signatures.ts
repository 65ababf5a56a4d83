// Signatures of pushed VEX: a DSSE envelope around an in-toto statement about the image.

import { isObject, type Json, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { TrustedKey } from "#advisories/store";
import type { Envelope } from "../sbom/statement.ts";
import { isSignedBy } from "./public-key.ts";

const payloadType = "application/vnd.in-toto+json";

/** Without `keyid`, which is only a hint. */
const signaturesOf = ({ signatures }: Envelope): string[] =>
  Array.isArray(signatures) ? signatures.flatMap((each) => (isObject(each) && text(each, "sig") !== "" ? [text(each, "sig")] : [])) : [];

export const hasSignature = (envelope: Envelope): boolean => signaturesOf(envelope).length > 0;

/** Returns whether an in-toto statement with OpenVEX names one of the digests as its subject. */
export const isStatementAbout = (content: Json, about: readonly string[]): boolean =>
  isObject(content) &&
  content.payload === undefined &&
  content.dsseEnvelope === undefined &&
  text(content, "_type").startsWith("https://in-toto.io/Statement/") &&
  text(content, "predicateType").startsWith("https://openvex.dev/ns") &&
  objectList(content, "subject").some((subject) => about.includes(`sha256:${text(part(subject, "digest"), "sha256")}`));

/** The pre-authentication encoding of DSSE, which is what is signed. */
const signedBytes = ({ payload }: Envelope): Uint8Array =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `), payload]);

/** Returns the sources whose key verifies one of the signatures. Of an envelope with too many signatures, none counts. */
export const findSigners = (envelope: Envelope, keys: readonly TrustedKey[]): string[] => {
  const signatures = signaturesOf(envelope);
  if (envelope.payloadType !== payloadType || signatures.length > limits.vexSignaturesMax) return [];
  const message = signedBytes(envelope);
  return keys.filter(({ publicKey }) => signatures.some((each) => isSignedBy(publicKey, message, Buffer.from(each, "base64")))).map(({ uid }) => uid);
};
