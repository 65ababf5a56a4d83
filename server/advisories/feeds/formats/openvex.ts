// OpenVEX documents, 0.0.1 and 0.2.0. Each pair of product and vulnerability becomes an advisory, with its statements as events.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import type { AdvisoryEventData, AdvisoryEventRecord, AdvisoryRecord } from "../record.ts";
import type { Field } from "../field.ts";
import { FieldError } from "../invalid.ts";
import { isPackageName } from "../judge-statements.ts";
import { originOf, type Format, type ReadOptions } from "./format.ts";
import { affected, fixedIn, investigated, isJustification, notAffected, productOf } from "./vex.ts";

const readComponentName = (component: Field): string => {
  if (typeof component.value === "string") return component.required();
  const identifiers = component.object().at("identifiers");
  const purl = identifiers.at("purl").name();
  if (purl !== "") return purl;
  if (!component.at("@id").missing) return component.at("@id").required();
  // Otherwise the first other identifier or hash.
  const others = [identifiers, component.at("hashes")].flatMap((each) => each.keys().map((key) => each.at(key)));
  return (others[0] ?? component.at("@id")).required();
};

interface Subject {
  readonly product: string;
  readonly part: string;
}

/** In 0.0.1 subcomponents are siblings of products. */
const statementSubjects = (statement: Field): Subject[] =>
  statement
    .at("products")
    .list()
    .flatMap((product) => {
      const parts = [...statement.at("subcomponents").list(), ...(typeof product.value === "string" ? [] : product.object().at("subcomponents").list())];
      const name = readComponentName(product);
      return parts.length === 0 ? [{ product: name, part: "" }] : parts.map((part) => ({ product: name, part: readComponentName(part) }));
    });

const firstNote = (statement: Field, keys: readonly string[]): string => keys.map((key) => statement.at(key).prose().trim()).find((text) => text !== "") ?? "";

const statementEventData = (statement: Field, version: string): AdvisoryEventData => {
  const status = statement.at("status");
  const justification = statement.at("justification").name();
  if (justification !== "" && !isJustification(justification)) return statement.at("justification").refuse("must be a justification of OpenVEX");
  switch (status.required()) {
    case "not_affected":
      return notAffected(justification, firstNote(statement, ["impact_statement", "status_notes", "statement"]));
    case "affected":
      return affected(firstNote(statement, ["action_statement", "status_notes", "impact_statement"]));
    case "fixed":
      return fixedIn(version, firstNote(statement, ["status_notes"]));
    case "under_investigation":
      return investigated;
    default:
      return status.refuse("must be not_affected, affected, fixed or under_investigation");
  }
};

interface Vulnerability {
  readonly id: string;
  readonly aliases: readonly string[];
}

const readVulnerability = (field: Field): Vulnerability => {
  if (typeof field.value === "string") return { id: field.id(), aliases: [] };
  const name = field.object().at("name");
  return { id: name.missing ? field.at("@id").id() : name.id(), aliases: field.at("aliases").ids() };
};

const isOpenVex = (document: JsonObject): boolean =>
  (typeof document["@context"] === "string" && document["@context"].includes("openvex")) || ("statements" in document && "author" in document);

const isAttestation = (document: Json | undefined): boolean =>
  isObject(document) && typeof document.predicateType === "string" && document.predicateType.includes("openvex");

const eventTime = (document: Field, statement: Field): string => {
  const time = [statement.at("timestamp"), document.at("timestamp")].find((each) => each.time() !== undefined);
  return timestamp((time ?? document.at("timestamp")).requiredTime());
};

export const openvex: Format = {
  name: "openvex",
  title: "an OpenVEX document",
  kinds: ["advisories"],
  matches: (document) => isOpenVex(document) || isAttestation(document),
  origin: (file) => {
    const document = isAttestation(file.value) ? file.at("predicate").object() : file;
    const [number, time] = [document.at("@id"), document.at("last_updated")];
    return originOf((number.missing ? document.at("id") : number).name(), time.missing ? document.at("timestamp") : time);
  },
  read: (file, options: ReadOptions) => {
    const document = isAttestation(file.value) ? file.at("predicate").object() : file;
    const number = document.at("@id").missing ? document.at("id").name() : document.at("@id").name();
    const author = options.author ?? (document.at("author").name() || "OpenVEX");
    const found = new Map<string, AdvisoryRecord & { readonly events: AdvisoryEventRecord[] }>();
    for (const statement of document.at("statements").entries()) {
      const { id, aliases } = readVulnerability(statement.at("vulnerability"));
      const time = eventTime(document, statement);
      // An unknown status always refuses the document.
      statementEventData(statement, "");
      for (const { product, part } of statementSubjects(statement)) {
        if (!isPackageName(product)) {
          options.leaveUnmatched?.(new FieldError(statement.at("products").path, `name ${JSON.stringify(product)}, which is not a package URL`));
        }
        const { version, artifactArchitecture, namespace, ...artifact } = productOf(product);
        const component = part === "" ? undefined : productOf(part);
        // All versions of a package share one advisory.
        const key = [number, id, artifact.artifactType, namespace, artifact.artifactName, artifactArchitecture, component?.artifactName ?? ""].join(" ");
        const known = found.get(key) ?? {
          kind: "advisory" as const,
          key,
          advisoryId: id,
          author,
          ...artifact,
          ...(artifactArchitecture ? { artifactArchitecture } : {}),
          ...(namespace ? { namespace } : {}),
          ...(component ? { componentName: component.artifactName, componentType: component.artifactType } : {}),
          aliases: [...new Set([id, ...aliases])],
          events: [],
        };
        found.set(key, known);
        known.events.push({ time, data: statementEventData(statement, component?.version || version) });
      }
    }
    return [...found.values()];
  },
};
