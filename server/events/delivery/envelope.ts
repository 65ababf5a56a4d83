// An event as its receiver gets it: CloudEvents 1.0 in HTTP binary mode, signed (events, 2 and 6; Standard Webhooks). Pure.

import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";

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
  /** Byte for byte. */
  readonly data: string;
}

/** CloudEvents HTTP binding §3.1.3.2: percent-encodes spaces, quotes, percent signs and everything but printable ASCII (attack 28). */
export const headerValue = (value: string): string =>
  value
    .toWellFormed()
    .replace(/[^\x21\x23\x24\x26-\x7e]/gu, (character) =>
      [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
    );

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
  // CloudEvents: a subject must not be empty.
  if (event.subject !== "") headers["ce-subject"] = headerValue(event.subject);
  for (const [name, value] of Object.entries(event.extensions)) headers[`ce-${name}`] = headerValue(value);
  return headers;
};

/** Returns "sha256:…" of the exact body, for the delivery token. */
export const bodyDigest = (data: string): string => `sha256:${createHash("sha256").update(data).digest("hex")}`;

const secretPrefix = "whsec_";
const secretBytes = 32;

/** Returns a new secret in the format of Standard Webhooks. */
export const newSecret = (): string => `${secretPrefix}${randomBytes(secretBytes).toString("base64")}`;

/** Returns a secret's signing key; create it once, because that takes longer than signing. */
export const signingKeyOf = (secret: string): KeyObject => createSecretKey(Buffer.from(secret.slice(secretPrefix.length), "base64"));

/** Returns the headers of Standard Webhooks: ID, time and one signature per key. */
export const signatureHeaders = (keys: readonly KeyObject[], event: EventEnvelope, nowMs: number): Record<string, string> => {
  const seconds = Math.floor(nowMs / 1000);
  const signed = `${event.eventId}.${seconds}.${event.data}`;
  const each = keys.map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  return { "webhook-id": event.eventId, "webhook-timestamp": String(seconds), "webhook-signature": each.join(" ") };
};
