// An event as a sink receives it: CloudEvents 1.0, HTTP binary mode, and the two signatures (events, 2 and 6; Standard
// Webhooks). Pure.

import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";

/** An event as far as a delivery needs it. */
export interface EventEnvelope {
  readonly eventId: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly extensions: Readonly<Record<string, string>>;
  readonly bodyType: string;
  readonly audience: string;
  /** RFC 3339. */
  readonly time: string;
  /** The body, byte for byte. */
  readonly data: string;
}

/** CloudEvents, HTTP binding 3.1.3.2: what is not printable ASCII, spaces, quotes and percent signs are percent-encoded (attack 28). */
export const headerValue = (value: string): string =>
  value
    .toWellFormed()
    .replace(/[^\x21\x23\x24\x26-\x7e]/gu, (character) =>
      [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
    );

/** The attributes of an event as headers. */
export const attributeHeaders = (event: EventEnvelope): Record<string, string> => {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "ce-specversion": "1.0",
    "ce-id": event.eventId,
    "ce-type": headerValue(event.type),
    "ce-source": headerValue(event.source),
    "ce-time": event.time,
    "ce-audience": event.audience,
    "ce-bodytype": event.bodyType,
  };
  // CloudEvents: a subject that is there is not empty.
  if (event.subject !== "") headers["ce-subject"] = headerValue(event.subject);
  for (const [name, value] of Object.entries(event.extensions)) headers[`ce-${name}`] = headerValue(value);
  return headers;
};

/** "sha256:…" of the exact body, for the token on a delivery. */
export const bodyDigest = (data: string): string => `sha256:${createHash("sha256").update(data).digest("hex")}`;

const secretPrefix = "whsec_";
const secretBytes = 32;

/** A secret as Standard Webhooks writes it. */
export const newSecret = (): string => `${secretPrefix}${randomBytes(secretBytes).toString("base64")}`;

/** The key that a secret signs with; made once, since that takes longer than signing. */
export const signingKeyOf = (secret: string): KeyObject => createSecretKey(Buffer.from(secret.slice(secretPrefix.length), "base64"));

/** Standard Webhooks: id, time and signatures, one for each valid secret. */
export const signatureHeaders = (keys: readonly KeyObject[], event: EventEnvelope, nowMs: number): Record<string, string> => {
  const seconds = Math.floor(nowMs / 1000);
  const signed = `${event.eventId}.${seconds}.${event.data}`;
  const each = keys.map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  return { "webhook-id": event.eventId, "webhook-timestamp": String(seconds), "webhook-signature": each.join(" ") };
};
