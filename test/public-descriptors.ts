// Describes protobuf files in the format of contract/public-descriptors.txt, and compares both.

import { type DescEnum, type DescField, type DescFile, type DescMessage, type DescMethod, getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { http } from "#contract/gen/google/api/annotations_pb.js";

/** By subject ("message NAME"), the parts of the line: a field, a value, "messages" or "http" of a method. */
export type Facts = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Gantry's own fields and capabilities have numbers from here on. */
const ownFieldsFrom = 1000;
const ownCapabilitiesFrom = 20_000;
const capabilityEnum = "enum chainguard.capabilities.Capability";

/** Parses contract/public-descriptors.txt. Throws if a line is malformed. */
export const readFacts = (lines: string): Facts => {
  const facts = new Map<string, ReadonlyMap<string, string>>();
  const pair = (part: string): [string, string] => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
  for (const line of lines.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [subject = "", ...rest] = line.split(":");
    const said = rest.join(":").trim();
    if (!/^(?:enum|message|method) [\w./]+$/.test(subject)) throw new Error(`unknown line: ${line.slice(0, 80)}`);
    if (subject.startsWith("method ")) {
      const [messages = "", rule = ""] = said.split("; ").map((part) => part.replace(/;$/, ""));
      facts.set(subject, new Map(Object.entries({ messages, http: rule })));
    } else {
      const parts = said === "" ? [] : said.split(subject.startsWith("enum ") ? " " : "; ");
      if (parts.some((part) => !/^\w+=\d+/.test(part))) throw new Error(`unknown part in: ${line.slice(0, 80)}`);
      facts.set(subject, new Map(parts.map(pair)));
    }
  }
  return facts;
};

const scalarName = (scalar: ScalarType): string => ScalarType[scalar].toLowerCase();

const typeOf = (field: DescField): string => {
  const single = field.message?.typeName ?? field.enum?.typeName ?? (field.scalar === undefined ? "" : scalarName(field.scalar));
  if (field.fieldKind === "map") return `map<${scalarName(field.mapKey)},${single}>`;
  if (field.fieldKind === "list") return `repeated ${single}`;
  if (field.proto.proto3Optional) return `optional ${single}`;
  return field.oneof ? `${single} oneof ${field.oneof.name}` : single;
};

/** Returns "GET /iam/v1/groups", first rule first; empty for gRPC-only methods. */
const rulesOf = (method: DescMethod): string[] => {
  if (!hasOption(method, http)) return [""];
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings].map(({ pattern, body }) => {
    const path = typeof pattern.value === "string" ? pattern.value : (pattern.value?.path ?? "");
    return `${(pattern.case ?? "").toUpperCase()} ${path}${body === "" ? "" : ` body=${body}`}`;
  });
};

/** Describes the public packages of these files. Additional rules of a method are "http 2", … */
export const describe = (files: readonly DescFile[]): Facts => {
  const facts = new Map<string, ReadonlyMap<string, string>>();
  const addEnum = (declared: DescEnum): void => {
    facts.set(`enum ${declared.typeName}`, new Map(declared.values.map(({ name, number }) => [name, String(number)])));
  };
  const addMessage = (message: DescMessage): void => {
    facts.set(`message ${message.typeName}`, new Map(message.fields.map((field) => [field.name, `${field.number}:${typeOf(field)}`])));
    message.nestedMessages.forEach(addMessage);
    message.nestedEnums.forEach(addEnum);
  };
  for (const file of files.filter(({ proto }) => proto.package.startsWith("chainguard."))) {
    file.messages.forEach(addMessage);
    file.enums.forEach(addEnum);
    for (const method of file.services.flatMap(({ methods }) => methods)) {
      const rules = rulesOf(method).map((rule, index): [string, string] => [index === 0 ? "http" : `http ${index + 1}`, rule]);
      facts.set(`method ${method.parent.typeName}/${method.name}`, new Map([["messages", `${method.input.typeName} -> ${method.output.typeName}`], ...rules]));
    }
  }
  return facts;
};

const isOwn = (subject: string, value: string): boolean => {
  const number = Number(value.split(":", 1)[0]);
  if (subject === capabilityEnum) return number >= ownCapabilitiesFrom;
  return subject.startsWith("message ") && number >= ownFieldsFrom;
};

const namesIn = (facts: Facts, value: string): string[] =>
  [...value.matchAll(/chainguard\.[\w.]+/g)].flatMap(([name]) => [`message ${name}`, `enum ${name}`].filter((subject) => facts.has(subject)));

const reached = (facts: Facts, methods: readonly string[]): ReadonlySet<string> => {
  const found = new Set<string>();
  const follow = (subject: string): void => {
    if (found.has(subject)) return;
    found.add(subject);
    for (const value of facts.get(subject)?.values() ?? []) namesIn(facts, value).forEach(follow);
  };
  methods.forEach(follow);
  return found;
};

export interface Difference {
  /** "message NAME", or "message NAME field" for a part. */
  readonly subject: string;
  readonly says: string;
}

/**
 * Returns what `served` lacks, has differently, or adds without one of Gantry's numbers. Messages and enums needed only by
 * missing methods are not reported separately.
 */
export const compare = (publicFacts: Facts, served: Facts): Difference[] => {
  const found: Difference[] = [];
  const add = (subject: string, says: string): number => found.push({ subject, says });
  const methods = [...publicFacts.keys()].filter((subject) => subject.startsWith("method "));
  const missing = methods.filter((subject) => !served.has(subject));
  const needed = reached(
    publicFacts,
    methods.filter((subject) => served.has(subject)),
  );
  const neededByMissing = reached(publicFacts, missing);
  for (const [subject, parts] of publicFacts) {
    const own = served.get(subject);
    if (!own) {
      if (subject.startsWith("method ") || needed.has(subject) || !neededByMissing.has(subject)) add(subject, "missing");
      continue;
    }
    for (const [part, value] of parts) {
      const ours = own.get(part);
      if (part === "http" && [...own].some(([name, each]) => name.startsWith("http") && each === value)) continue;
      if (ours !== value) add(`${subject} ${part}`, ours === undefined ? "missing" : `${ours} instead of ${value}`);
    }
    for (const [part, value] of own) {
      if (part.startsWith("http")) continue;
      if (!parts.has(part) && !isOwn(subject, value)) add(`${subject} ${part}`, `${value} is not public`);
    }
    const rule = parts.get("http");
    const rules = [...own].filter(([part]) => part.startsWith("http")).map(([, value]) => value);
    if (rule !== undefined && rules.includes(rule))
      for (const further of rules.filter((each) => each !== rule)) add(`${subject} http`, `${further} is not public`);
  }
  for (const subject of served.keys()) if (!publicFacts.has(subject)) add(subject, "not public");
  return found;
};
