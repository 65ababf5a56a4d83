// Stored documents: deflated JSON. JSON text is unchanged; other notations are converted.

import { hash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { type DocumentDraft, recordKey } from "#advisories/store";
import type { Origin } from "./formats/format.ts";
import type { FeedRecord } from "./record.ts";

/** Returns the time of the document, else of the record or its last event. */
const modifyTimeOf = (record: FeedRecord, documentTime: string): string => {
  if (documentTime !== "") return documentTime;
  if (record.kind === "vulnerability") return record.modifyTime ?? "";
  if (record.kind !== "advisory") return "";
  return record.events.reduce((last, { time }) => (time > last ? time : last), "");
};

/** With Node's default sizes each would hold 300 KiB until garbage collection. */
const deflating = { chunkSize: 4 * 1024, memLevel: 6 };

export const newDocumentDraft = (
  form: string,
  origin: Origin,
  text: string,
  facts: Pick<DocumentDraft, "leftOut" | "osv" | "csaf">,
  records: readonly FeedRecord[],
  deflated: Uint8Array = deflateRawSync(text, deflating),
): DocumentDraft => ({
  form,
  originId: origin.id,
  license: origin.license,
  modifyTime: origin.modifyTime,
  ...facts,
  digest: hash("sha256", text, "base64url"),
  // A copy, since the archive's window is reused.
  body: Buffer.from(deflated),
  records: new Map(records.map((record) => [recordKey(record), modifyTimeOf(record, origin.modifyTime)])),
});

export const textOfStored = (body: string): string => inflateRawSync(Buffer.from(body, "base64")).toString("utf8");

export const valueOfStored = (body: string): JsonObject => {
  const value = JSON.parse(textOfStored(body)) as Json;
  return isObject(value) ? value : {};
};
