// Documents that organizations accept, and operations that require them (resources: Terms), from the operator's file.

import { Fault } from "#base/fault.ts";
import { ancestry } from "#base/uid.ts";
import { methodByName } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { findAcceptedTerms, type Read } from "#db";

export interface TermsDocument {
  readonly id: string;
  readonly label: string;
  readonly url: string;
}

export interface Terms {
  readonly documents: ReadonlyMap<string, TermsDocument>;
  readonly required: ReadonlyMap<string, readonly TermsDocument[]>;
}

export interface TermsSettings {
  readonly documents: readonly TermsDocument[];
  readonly requires: Readonly<Record<string, readonly string[]>>;
}

const settingsFault = (reason: string): Fault => new Fault("FAILED_PRECONDITION", `GANTRY_TERMS_FILE ${reason}`);

/** Checks the settings against the contract. Throws one line, which stops the start. */
export const termsOf = ({ documents, requires }: TermsSettings): Terms => {
  const byId = new Map(documents.map((document) => [document.id, document]));
  const required = new Map<string, readonly TermsDocument[]>();
  for (const [name, ids] of Object.entries(requires)) {
    const method = methodByName(name);
    if (!method) throw settingsFault(`requires documents for ${JSON.stringify(name)}, which is no operation`);
    // Without a path there is no organization to accept; and accepting must not require acceptance.
    if (!method.scope || method.capabilities.includes("terms.accept")) throw settingsFault(`cannot require documents for ${name}`);
    required.set(
      method.name,
      ids.map((id) => {
        const document = byId.get(id);
        if (!document) throw settingsFault(`requires ${JSON.stringify(id)} for ${name}, which is none of its documents`);
        return document;
      }),
    );
  }
  return { documents: byId, required };
};

/** Throws FAILED_PRECONDITION, naming the documents, unless the group at `path` or an ancestor has accepted them. */
export const requireTerms = async ({ required }: Terms, method: MethodFact, path: string | undefined, rows: Read): Promise<void> => {
  const needed = required.get(method.name);
  if (!needed || path === undefined) return;
  const accepted = await findAcceptedTerms(rows, ancestry(path));
  const missing = needed.filter(({ id }) => !accepted.has(id));
  if (missing.length > 0) throw new Fault("FAILED_PRECONDITION", "terms not accepted", { details: [{ kind: "terms", missing }] });
};
