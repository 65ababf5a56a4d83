// Our advisories as OSV records, with severities from all sources.

import { isObject, type Json, type JsonObject, part, texts } from "#base/json.ts";
import { rootOf } from "#base/uid.ts";
import { type AdvisoryRow, type Reader, readSeverities, severitiesOf } from "#advisories/store";
import { textOfStored, valueOfStored } from "../stored-document.ts";
import { type Published, publishedOf, vulnerabilityNumbers } from "./advisory.ts";
import { osvRecord, whyNoOsv } from "./osv.ts";
import { osvValueOf } from "./osv-value.ts";

export const withSeverityRecords = async (reader: Reader, rows: readonly AdvisoryRow[]): Promise<Published[]> => {
  const roots = rows.map(({ uid }) => rootOf(uid));
  const known = await readSeverities(reader.read, roots, rows.flatMap(vulnerabilityNumbers));
  return rows.map((row) => publishedOf(row, severitiesOf(known, rootOf(row.uid), vulnerabilityNumbers(row))));
};

const patchedCount = (event: Json): number => (isObject(event) ? texts(part(event, "patched"), "patchedVersions").length : 0);

export const whyNoOsvOf = (advisory: Published): string | undefined => {
  const events = JSON.parse(advisory.events) as Json;
  const isPatchedOften = Array.isArray(events) && events.some((event) => patchedCount(event) > 1);
  return whyNoOsv({ ...advisory, isPatchedOften });
};

/** Returns OSV records by advisory ID. `rows` must contain all rows of each ID. */
export const ownRecordsOf = async (reader: Reader, rows: readonly AdvisoryRow[]): Promise<Map<string, JsonObject>> => {
  const records = new Map<string, JsonObject>();
  const byNumber = Map.groupBy(await withSeverityRecords(reader, rows), ({ advisoryId }) => advisoryId);
  for (const [number, [first, ...others]] of byNumber)
    if (first && [first, ...others].every((each) => whyNoOsvOf(each) === undefined)) records.set(number, osvRecord([first, ...others]));
  return records;
};

export const osvTextOf = ({ form, body }: { readonly form: string; readonly body: string }): string =>
  form === "osv" ? textOfStored(body) : JSON.stringify(osvValueOf(form, valueOfStored(body)));
