// Variants for the audit log: a page of a year's entries, with many and with few entries.

import type { JsonObject } from "#base/json.ts";
import type { Variant } from "./environment.ts";
import { fetchJson, wrk } from "./load.ts";

const fewEntries = 10_000;

/** Page 2, newest first: its total comes from the token and is not measured. */
const auditPage = (label: string, size: "few" | "many"): Variant => ({
  label,
  unit: "1/s",
  async prepare({ audited, manyEntries }) {
    const { process, of } = await audited(size === "few" ? fewEntries : manyEntries);
    const { uid, authorization } = of(0);
    const first = `${process.url}/gantry/v1/auditEntries?uidp.descendants_of=${uid}`;
    const { nextPageToken } = (await fetchJson(first, authorization)).reply;
    const second = `${first}&page_token=${encodeURIComponent(String(nextPageToken))}`;
    if (((await fetchJson(second, authorization)).reply.auditEntries as JsonObject[]).length !== 50) throw new Error(`${second} does not answer a full page`);
    return (seconds) => wrk(second, { authorization }, seconds);
  },
});

export const auditVariants: Readonly<Record<string, Variant>> = {
  auditFew: auditPage(`gantry, page 2 of ${fewEntries.toLocaleString("en")} audit entries`, "few"),
  auditMany: auditPage("gantry, page 2 of 1,000,000 audit entries (10,000,000 with --large)", "many"),
};
