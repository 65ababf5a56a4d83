// An event as a sink receives it: CloudEvents 1.0, HTTP binary mode, and the two signatures (events, 2 and 6; Standard
// Webhooks). Pure.

import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";

/** An event with what a delivery needs of it. */
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

/** The attributes as headers. */
export const attributes = (told: EventEnvelope): Record<string, string> => {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "ce-specversion": "1.0",
    "ce-id": told.eventId,
    "ce-type": headerValue(told.type),
    "ce-source": headerValue(told.source),
    "ce-time": told.time,
    "ce-audience": told.audience,
    "ce-bodytype": told.bodyType,
  };
  // CloudEvents: a subject that is there is not empty.
  if (told.subject !== "") headers["ce-subject"] = headerValue(told.subject);
  for (const [name, value] of Object.entries(told.extensions)) headers[`ce-${name}`] = headerValue(value);
  return headers;
};

/** "sha256:…" of the exact body: what the token on a delivery vouches for. */
export const digestOf = (data: string): string => `sha256:${createHash("sha256").update(data).digest("hex")}`;

const secretPrefix = "whsec_";
const secretBytes = 32;

/** A secret as Standard Webhooks writes it. */
export const newSecret = (): string => `${secretPrefix}${randomBytes(secretBytes).toString("base64")}`;

/** What a secret signs with; made once, since that takes longer than signing. */
export const keyOf = (secret: string): KeyObject => createSecretKey(Buffer.from(secret.slice(secretPrefix.length), "base64"));

/** Standard Webhooks: id, time and signatures, one for each secret that counts. */
export const signatures = (keys: readonly KeyObject[], told: EventEnvelope, nowMs: number): Record<string, string> => {
  const seconds = Math.floor(nowMs / 1000);
  const signed = `${told.eventId}.${seconds}.${told.data}`;
  const each = keys.map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  return { "webhook-id": told.eventId, "webhook-timestamp": String(seconds), "webhook-signature": each.join(" ") };
};
